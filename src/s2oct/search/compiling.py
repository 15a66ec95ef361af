"""Nothing is compiled at run time any more; the callers of these functions go next."""


def compile_kernels() -> None:
    pass


def kernels_are_ready() -> bool:
    return True


def kernels_are_kept() -> bool:
    return True
