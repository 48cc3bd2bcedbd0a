package systest

import "os"

func childPath() string { return os.Args[0] }

func platformHelpers() map[string]Helper { return nil }
