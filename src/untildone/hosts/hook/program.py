"""The hook's program, which agents run by its path: isolated, without site-packages, so that no environment matters."""

import gc
import sys

if __name__ == "__main__":
    # An ordinary stop loads modules and ends: there is nothing to collect. The slow part switches it on again.
    gc.disable()
    sys.path.insert(0, __file__.replace("\\", "/").rsplit("/", 4)[0])

    from untildone.hosts.hook.entry import main

    main(sys.argv[1:])
