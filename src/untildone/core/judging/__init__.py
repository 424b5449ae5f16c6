"""Judge files: the files that decide what a check means, which of them an agent changed, and the trees in which a check runs.

Everything here is pure: it compares two trees and says what to do. `survey` is the way in.
"""
