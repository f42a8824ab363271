"""The persistent queue and its workers. It knows no kind of job: handlers are given to it by name."""
