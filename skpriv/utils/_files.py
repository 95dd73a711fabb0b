"""Files that are replaced as a whole, or not at all."""

import os
from secrets import token_hex


class PendingFile:
    """New content of a file, which becomes visible only when it is complete.

    The content goes to a temporary file in the same folder, which `commit` puts in
    the place of the file in one step.

    Parameters
    ----------
    target : pathlib.Path
        The file to write. Its permissions are kept if it exists.
    private : bool, default=False
        Whether only its owner can read the file, if it is new.

    Raises
    ------
    OSError
        If the folder cannot be written to.
    """

    def __init__(self, target, private=False):
        self.target = target
        self._temporary = target.with_name(f".{target.name}.{token_hex(4)}.tmp")
        mode = 0o600 if private else 0o666
        os.close(os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        if target.exists():
            self._temporary.chmod(target.stat().st_mode & 0o777)

    def write(self, content):
        """Write the whole content.

        Parameters
        ----------
        content : bytes
        """
        with open(self._temporary, "wb") as file:
            file.write(content)
            file.flush()
            # A full disk may be noticed only here, before the file is replaced.
            os.fsync(file.fileno())

    def commit(self):
        """Put the content in the place of the file."""
        os.replace(self._temporary, self.target)

    def discard(self):
        """Remove the temporary file, if it is still there."""
        self._temporary.unlink(missing_ok=True)


def replace_whole(path, content, private=False):
    """Replace the content of a file, or leave the file as it is.

    Parameters
    ----------
    path : pathlib.Path
    content : bytes
    private : bool, default=False
        Whether only its owner can read the file, if it is new.

    Raises
    ------
    OSError
        If the file cannot be written. It is then unchanged.
    """
    pending = PendingFile(path, private)
    try:
        pending.write(content)
        pending.commit()
    finally:
        pending.discard()
