package sys

// InsideTree reports whether this process is a member of a tree that belfry
// contains, as far as the system tells: what it starts, detached or not, may
// end with that tree. It is told on Linux, by the control group and by the
// helpers among its ancestors.
func InsideTree() bool { return insideTree() }
