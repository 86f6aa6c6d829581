package link

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

// TestGoodput: TCP gets most of what a rate leaves it, alone and by 32 connections. How much
// exactly, a machine that does other work as well cannot tell.
func TestGoodput(t *testing.T) {
	t.Parallel() // it waits
	p := openPacket(t, Conditions{Down: Direction{Rate: 5 * Mbit, Delay: 10 * time.Millisecond},
		Up: Direction{Rate: 5 * Mbit, Delay: 10 * time.Millisecond}})
	for _, connections := range []int{1, 32} {
		goodEnough(t, 5*Mbit, connections, p.Goodput)
	}
}

// TestPacketFates: as many packets are lost as were asked, and those that the seed says.
func TestPacketFates(t *testing.T) {
	t.Parallel() // it waits
	d := Direction{Loss: 0.05, Burst: 3, Delay: time.Millisecond}
	lossy(t, d, func(seed uint64) func(context.Context, int) ([]bool, error) {
		p, err := OpenPacket(Conditions{Down: d}, seed)
		if no := (*PrivilegeError)(nil); errors.As(err, &no) && os.Getenv("CI") != "true" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p.deliveries
	})
}
