"""Find, load, guard and run plugins. Nothing here imports a plugin unless it is asked to load that one."""
