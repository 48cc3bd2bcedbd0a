package daemon

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// verdict is what a client does about the daemon that it found.
type verdict uint8

const (
	use     verdict = iota // talk to it
	replace                // ask it to leave, if nobody needs it, and start our own
	refuse                 // it cannot be used, and it must not be ended
)

// judge decides what to do about a daemon of another build. It never has work
// ended, and never replaces a newer daemon by an older one.
//
//	ranges overlap, nothing required is missing, daemon not older  use
//	the same, daemon older and idle                                replace
//	the same, daemon older and busy                                use
//	no overlap, or a required capability missing: older and idle   replace
//	  otherwise                                                    refuse
func judge(c *Config, h *Hello) verdict {
	_, overlap := c.protocol.common(h.Protocol)
	missing := slices.ContainsFunc(c.Requires, func(r string) bool { return !h.can(r) })
	idle := len(h.Clients) == 0 && !h.Busy
	older := older(h.Version, c.Version) || !overlap && h.Protocol.Max < c.protocol.Min
	switch {
	case overlap && !missing && !older:
		return use
	case older && idle:
		return replace
	case overlap && !missing:
		return use
	case missing && idle && !newer(h.Version, c.Version) && overlap:
		return replace // the same build, started with less
	}
	return refuse
}

func older(a, b string) bool { return CompareVersions(a, b) < 0 }
func newer(a, b string) bool { return CompareVersions(a, b) > 0 }

// CompareVersions orders semantic versions: negative when a is the earlier one. Versions that are none are equal to
// everything: nothing is known of them.
func CompareVersions(a, b string) int {
	x, xok := parseVersion(a)
	y, yok := parseVersion(b)
	if !xok || !yok {
		return 0
	}
	if c := slices.Compare(x.numbers[:], y.numbers[:]); c != 0 {
		return c
	}
	switch {
	case len(x.pre) == 0 || len(y.pre) == 0:
		return cmp.Compare(len(y.pre), len(x.pre)) // a release is later than what leads to it
	}
	return slices.CompareFunc(x.pre, y.pre, comparePart)
}

type semver struct {
	numbers [3]uint64
	pre     []string
}

func parseVersion(s string) (v semver, ok bool) {
	s, _, _ = strings.Cut(strings.TrimPrefix(s, "v"), "+")
	core, pre, has := strings.Cut(s, "-")
	if has {
		v.pre = strings.Split(pre, ".")
	}
	parts := strings.Split(core, ".")
	if len(parts) != 3 {
		return semver{}, false
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 64)
		if err != nil {
			return semver{}, false
		}
		v.numbers[i] = n
	}
	return v, true
}

// comparePart orders identifiers of a pre-release: numbers before words.
func comparePart(a, b string) int {
	x, xerr := strconv.ParseUint(a, 10, 64)
	y, yerr := strconv.ParseUint(b, 10, 64)
	switch {
	case xerr == nil && yerr == nil:
		return cmp.Compare(x, y)
	case xerr == nil:
		return -1
	case yerr == nil:
		return 1
	}
	return strings.Compare(a, b)
}
