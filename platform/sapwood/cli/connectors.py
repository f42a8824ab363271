"""`connectors`: the plugins through which things come in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sapwood.cli.commands import Commands, with_common_options
from sapwood.cli.console import COULD_NOT_RUN, DONE_WITH_FAILURES, counted, errors_to_exit_codes, print_json, say
from sapwood.cli.syncing import ask_field

if TYPE_CHECKING:
    from sapwood.memory.plugins import Plugins, PluginState
    from sapwood.plugins.installing import Candidate
    from sapwood.plugins.probing import Probed
    from sapwood.workspace import Workspace

_COLOURS = {"ready": "green", "disabled": "yellow", "broken": "red", "missing": "red"}


@click.group(cls=Commands)
def connectors() -> None:
    """Plugins that bring things in: list, install, remove, switch on and off."""


def _plugins(workspace: Path | None) -> Plugins:
    from sapwood.memory.plugins import Plugins

    return Plugins(_located(workspace))


def _located(workspace: Path | None) -> Workspace:
    from sapwood.workspace import Workspace

    return Workspace.locate(workspace)


@connectors.command("list")
@with_common_options
def list_(workspace: Path | None, as_json: bool, debug: bool) -> None:
    """All of them, with their state. None is loaded."""
    with errors_to_exit_codes(as_json=as_json, debug=debug):
        states = _plugins(workspace).all()
        if as_json:
            print_json({"plugins": [state.to_json() for state in states]})
            return
        for state in states:
            _say_state(state)
        say(counted(len(states), "plugins"))


@connectors.command()
@click.argument("name")
@with_common_options
def show(name: str, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """What the plugin NAME is, reads, asks for and talks to. It is loaded in a process of its own."""
    with errors_to_exit_codes(as_json=as_json, debug=debug):
        plugins = _plugins(workspace)
        examined = plugins.examine(plugins.named(name))
        if as_json:
            print_json({"plugins": [_as_json(state, probed) for state, probed in examined]})
            return
        for state, probed in examined:
            _say_state(state)
            _say_offers(probed)


@connectors.command()
@click.argument("key")
@with_common_options
def schema(key: str, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """The JSON Schema of the configuration of the connector KEY, for forms."""
    with errors_to_exit_codes(as_json=as_json, debug=debug):
        print_json(_plugins(workspace).schema(key))


@connectors.command()
@click.argument("key")
@click.option(
    "--set", "settings", multiple=True, metavar="FIELD=VALUE", help="A field of its configuration; may be repeated."
)
@with_common_options
def check(key: str, settings: tuple[str, ...], workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Whether the connector KEY can be reached with a configuration. Nothing is kept of it.

    Secrets are given as references: env:NAME, file:/path or keyring:service/user.
    """
    with errors_to_exit_codes(as_json=as_json, debug=debug):
        asking = not as_json and sys.stdin.isatty()
        report = _plugins(workspace).check(key, list(settings), ask_field if asking else None)
        if as_json:
            print_json({"account": report.account, "title": report.title, "notes": list(report.notes)})
            return
        say(f"Reached {report.title or report.account} ({report.account}).")
        for note in report.notes:
            say(f"   {note}")


@connectors.command()
@click.argument("what")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_common_options
def install(what: str, yes: bool, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Install the plugin WHAT: a name such as slack, a wheel, a folder, or the address of a git repository.

    It is shown first: what it is, and which hosts it says that it talks to.
    """
    with errors_to_exit_codes(as_json=as_json, debug=debug):

        def agree(candidate: Candidate) -> bool:
            if not as_json:
                _say_candidate(candidate)
            if yes:
                return True
            if as_json or not sys.stdin.isatty():
                raise click.UsageError("Nobody can be asked here: add --yes to install it.")
            return click.confirm("Install it?")

        examined = _plugins(workspace).install(what, agree)
        if examined is None:
            say("Nothing was installed.")
            raise click.exceptions.Exit(COULD_NOT_RUN)
        if as_json:
            print_json({"plugins": [_as_json(state, probed) for state, probed in examined]})
        else:
            for state, _ in examined:
                _say_state(state)
        if any(state.state == "broken" for state, _ in examined):
            raise click.exceptions.Exit(DONE_WITH_FAILURES)


@connectors.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_common_options
def uninstall(name: str, yes: bool, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Remove the plugin NAME, given by its key or its distribution. What was read through it stays."""
    with errors_to_exit_codes(as_json=as_json, debug=debug):
        plugins = _plugins(workspace)
        users = sorted({user for state in plugins.named(name) for user in state.connections})
        if users and not yes and not as_json:
            say(f"Used by {', '.join(users)}: what they brought in stays, and nothing new comes until it is back.")
            if sys.stdin.isatty():
                click.confirm("Remove it?", abort=True)
        removed = plugins.uninstall(name)
        if as_json:
            print_json({"removed": sorted({state.info.distribution for state in removed})})
        else:
            say(f"Removed: {', '.join(sorted({f'{s.info.distribution} {s.info.version}' for s in removed}))}.")


@connectors.command()
@click.argument("name")
@with_common_options
def enable(name: str, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Use the plugin NAME again."""
    _set_enabled(name, workspace, as_json=as_json, debug=debug, to=True)


@connectors.command()
@click.argument("name")
@with_common_options
def disable(name: str, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Use the plugin NAME no more, without removing it."""
    _set_enabled(name, workspace, as_json=as_json, debug=debug, to=False)


@connectors.command()
@with_common_options
def freeze(workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Write down which plugins are installed, in which versions. Every install and uninstall does so too."""
    with errors_to_exit_codes(as_json=as_json, debug=debug):
        lines = _plugins(workspace).freeze()
        if as_json:
            print_json({"requirements": lines})
        else:
            say("\n".join(lines))


@connectors.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@with_common_options
def restore(file: Path | None, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Install again what was written down, as after an upgrade of Sapwood; FILE in place of the workspace's own list."""
    with errors_to_exit_codes(as_json=as_json, debug=debug):
        told = _plugins(workspace).restore(file)
        if as_json:
            print_json({"plugins": [{"distribution": name, "outcome": outcome} for name, outcome in told]})
        else:
            for name, outcome in told:
                say(f"{name}: {outcome}")
        if any(outcome.startswith("failed") for _, outcome in told):
            raise click.exceptions.Exit(DONE_WITH_FAILURES)


@connectors.command()
@with_common_options
def doctor(workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Load each plugin in a process of its own and say what is wrong with it."""
    with errors_to_exit_codes(as_json=as_json, debug=debug):
        examined = _plugins(workspace).examine()
        if as_json:
            print_json({"plugins": [_as_json(state, probed) for state, probed in examined]})
        else:
            for state, probed in examined:
                _say_state(state)
                if not probed.problem and state.state != "missing":
                    say(f"   loads in {probed.seconds:.2f} s")
        if any(state.state in ("broken", "missing") for state, _ in examined):
            raise click.exceptions.Exit(DONE_WITH_FAILURES)


@connectors.command()
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(["document", "chat", "email"]),
    default="document",
    show_default=True,
    help="What it brings.",
)
@click.option(
    "--auth",
    type=click.Choice(["token", "oauth", "none"]),
    default="token",
    show_default=True,
    help="How it proves who asks.",
)
@click.option("--title", default="", help="Its name for people; from NAME without it.")
@click.option("--author", default="", help="Your name, for the package.")
@click.option("--into", type=click.Path(path_type=Path), help="The folder to make; sapwood-NAME without it.")
@with_common_options
def new(
    name: str, kind: str, auth: str, title: str, author: str, into: Path | None, workspace: Path | None, as_json: bool, debug: bool
) -> None:  # fmt: skip
    """Make the package of a new connector, which works at once and passes the kit.

    NAME is its key: one lower-case word.
    """
    with errors_to_exit_codes(as_json=as_json, debug=debug):
        from sapwood.plugins.template import NewConnector, keep_template, render

        asked = NewConnector(name, title, kind, auth, author)
        origin = keep_template(_located(workspace).plugins / "template")
        folder = into or Path(f"sapwood-{name.replace('_', '-')}")
        files = render(asked, folder, origin)
        if as_json:
            print_json({"folder": str(folder), "files": [str(file) for file in files]})
            return
        for file in files:
            say(f"   {folder / file}")
        say(f"Change _listed and _source in src/sapwood_{name}/connector.py, and what tests/service.py answers. Then:")
        say(f"   sapwood connectors test {folder}\n   sapwood connectors install {folder}")


@connectors.command()
@with_common_options
def template(workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Put this Sapwood's template of connectors where `copier update` finds it."""
    with errors_to_exit_codes(as_json=as_json, debug=debug):
        from sapwood.plugins.template import keep_template

        place = keep_template(_located(workspace).plugins / "template")
        if as_json:
            print_json({"template": str(place)})
        else:
            say(f"The template lies in {place}. In a package that was made of it, run: copier update --defaults")


@connectors.command()
@click.argument("folder")
@click.option("--only", "-k", default="", help="Only checks whose names hold this.")
@with_common_options
def test(folder: str, only: str, workspace: Path | None, as_json: bool, debug: bool) -> None:
    """Run the conformance kit over the connector package in FOLDER.

    Its wheel is built and installed into a folder of its own, and its tests
    run against that. `sapwood connectors list` shows the result.
    """
    with errors_to_exit_codes(as_json=as_json, debug=debug):
        from sapwood.memory.trying import try_connector

        tried = try_connector(_located(workspace), folder, quiet=as_json, more=["-k", only] if only else [])
        if as_json:
            print_json(tried.to_json())
        else:
            say(f"{tried.distribution} {tried.version}, {tried.proof}")
        if tried.code:
            raise click.exceptions.Exit(DONE_WITH_FAILURES)


def _set_enabled(name: str, workspace: Path | None, *, as_json: bool, debug: bool, to: bool) -> None:
    with errors_to_exit_codes(as_json=as_json, debug=debug):
        states = _plugins(workspace).set_enabled(name, to=to)
        if as_json:
            print_json({"plugins": [state.to_json() for state in states]})
        else:
            for state in states:
                _say_state(state)


def _as_json(state: PluginState, probed: Probed) -> dict[str, Any]:
    return {
        **state.to_json(),
        "loads_in_seconds": probed.seconds,
        "reads_files": probed.reads_files,
        "connectors": list(probed.connectors),
    }


def _say_state(state: PluginState) -> None:
    info = state.info
    click.secho(info.key, bold=True, nl=False)
    click.secho(f"  {state.state}", fg=_COLOURS[state.state], nl=False)
    api = f", API {info.api}" if info.api else ""
    say(f"  {info.title}" if info.title else "")
    click.secho(f"   {info.distribution} {info.version}{api}".rstrip(), fg="bright_black")
    if state.reason:
        say(f"   {state.reason[:1].upper()}{state.reason[1:]}. {state.next_step}".rstrip())
    if state.proof:
        say(f"   {state.proof}")
    if state.connections:
        say(f"   Used by {', '.join(state.connections)}")


def _say_offers(probed: Probed) -> None:
    """What its connectors are and ask for; nothing for one that cannot be loaded."""
    from sapwood.plugins.forms import fields_of

    for spec in probed.connectors:
        hosts = (
            "the hosts that its configuration names" if spec["hosts"] is None else ", ".join(spec["hosts"]) or "no host"
        )
        say(f"   {spec['title']}: every {spec['interval_seconds'] / 60:g} minutes; talks to {hosts}")
        say(f"   Can: {', '.join(spec['capabilities']) or 'check and pull'}")
        for field in fields_of(spec["schema"]):
            default = "required" if field.is_required else f"default {field.default!r}"
            say(f"      {field.name}: {field.description or field.title} ({field.kind}, {default})")
        if spec["docs_url"]:
            say(f"   {spec['docs_url']}")
    if probed.reads_files:
        say("   Reads files for other connectors")


def _say_candidate(candidate: Candidate) -> None:
    titles = {plugin.title for plugin in candidate.plugins if plugin.title}
    click.secho(f"{candidate.distribution} {candidate.version}", bold=True, nl=False)
    say(f"  {'; '.join(sorted(titles))}" if titles else "")
    say(f"   Plugins: {', '.join(plugin.key for plugin in candidate.plugins)}")
    say(f"   It says that it talks to: {', '.join(candidate.hosts) or 'no host'}")
    if candidate.missing:
        say(f"   It brings with it: {', '.join(candidate.missing)}")
