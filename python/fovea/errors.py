"""The exception of the package."""


class Error(RuntimeError):
    """A refusal. Nothing was written.

    code: the stable name, as in fovea.h ("head_ratio", "unsupported", ...). asked, allowed, why, hint: its texts.
    """

    def __init__(self, code, asked, allowed, why, hint):
        self.code, self.asked, self.allowed, self.why, self.hint = code, asked, allowed, why, hint
        super().__init__(f"{code}: asked {asked}; allowed {allowed}; {why}; {hint}")

    def __reduce__(self):
        return type(self), (self.code, self.asked, self.allowed, self.why, self.hint)


def from_fields(text):
    """The exception of a refusal as the binding gives it (python/binding/view.h)."""
    return Error(*text.split("\x1f"))
