package link

import (
	"errors"
	"os"
	"testing"
	"time"
)

// TestTBF: the kernel's token bucket lets through what its rate is, and nothing else is taken for one of its settings.
func TestTBF(t *testing.T) {
	d := Direction{Rate: 10 * Mbit}
	p, err := OpenTBF(Conditions{Down: d, Up: d})
	if no := (*PrivilegeError)(nil); errors.As(err, &no) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	goodEnough(t, 10*Mbit, 1, p.Goodput)
	if down, _ := p.Counts(); down.Packets < 3000 {
		t.Errorf("%+v", down)
	}
	for _, bad := range []Direction{{}, {Rate: Mbit, Delay: time.Millisecond}, {Rate: Mbit, Loss: 0.1}} {
		if p, err := OpenTBF(Conditions{Down: bad, Up: d}); err == nil {
			p.Close()
			t.Errorf("%+v is taken", bad)
		}
	}
}
