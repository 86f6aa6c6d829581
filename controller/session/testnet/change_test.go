package testnet

import (
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/link"
)

// What a step does not say stays as it is; a profile says all.
func TestChanged(t *testing.T) {
	cable, _ := link.ProfileNamed("cable")
	slow, _ := link.ProfileNamed("3g")
	lossy := suite.Percent(2)
	half := cable.Conditions
	half.Down.Loss, half.Up.Loss, half.Up.Rate = 0.02, 0.02, 500*link.Kbit
	half.SetRTT(100 * time.Millisecond)
	for name, tc := range map[string]struct {
		line suite.Link
		want link.Conditions
	}{
		"profile": {suite.Link{Profile: "3g"}, slow.Conditions},
		"figures": {suite.Link{RTT: 100 * time.Millisecond, Up: 500_000, Loss: &lossy}, half},
	} {
		got, err := Changed(cable.Conditions, tc.line)
		if err != nil || got.RTT() != tc.want.RTT() || got.Down.Rate != tc.want.Down.Rate ||
			got.Up.Rate != tc.want.Up.Rate || got.Down.Loss != tc.want.Down.Loss || got.Up.Loss != tc.want.Up.Loss {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tc.want)
		}
	}
	for _, l := range []suite.Link{{Profile: "cabel"}, {Down: 1}} {
		if _, err := Changed(cable.Conditions, l); err == nil {
			t.Errorf("%+v is taken", l)
		}
	}
	var d delays
	d.had(slow.Conditions)
	d.had(cable.Conditions)
	d.had(slow.Conditions)
	if d.up != 14*time.Millisecond || d.down != 14*time.Millisecond {
		t.Errorf("the shortest ways are %v up and %v down", d.up, d.down)
	}
}
