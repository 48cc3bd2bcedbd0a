package sys

import (
	"testing"

	"github.com/belfry-dev/belfry/darwin"
)

func TestOrders(t *testing.T) {
	for _, o := range []order{{add: true, pgid: 501, start: 1_700_000_000_000_001}, {pgid: 2, start: 0}} {
		if got, err := parseOrder(o.String()); err != nil || got != o {
			t.Errorf("%q came back as %+v, %v", o.String(), got, err)
		}
	}
	for _, bad := range []string{"", "+", "+ 1 5", "- 0 5", "+ -3 5", "* 7 5", "+ x 5", "+ 7"} {
		if o, err := parseOrder(bad); err == nil {
			t.Errorf("%q was taken for %+v", bad, o)
		}
	}
}

func TestLiveMembers(t *testing.T) {
	leader := darwin.Kinfo{PID: 10, PGID: 10, Start: 100, State: darwin.Running}
	zombie := leader
	zombie.State = darwin.Zombie
	child := darwin.Kinfo{PID: 11, PGID: 10, Start: 105, State: darwin.Sleeping}
	other := darwin.Kinfo{PID: 10, PGID: 10, Start: 900, State: darwin.Running}
	older := darwin.Kinfo{PID: 4, PGID: 10, Start: 50, State: darwin.Running}
	for name, tt := range map[string]struct {
		list []darwin.Kinfo
		want int
	}{
		"leader and child":               {[]darwin.Kinfo{leader, child}, 2},
		"the leader was reaped":          {[]darwin.Kinfo{child}, 1},
		"only a zombie":                  {[]darwin.Kinfo{zombie}, 0},
		"nobody":                         {nil, 0},
		"the number has a new leader":    {[]darwin.Kinfo{other, child}, 0},
		"a member older than the leader": {[]darwin.Kinfo{older}, 0},
	} {
		if got := liveMembers(tt.list, 10, 100); len(got) != tt.want {
			t.Errorf("%s: %v, want %d", name, got, tt.want)
		}
	}
}
