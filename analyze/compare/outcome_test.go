package compare

import (
	"errors"
	"testing"
)

// TestGravest: a failure comes before a regression, and that before an undecided verdict.
func TestGravest(t *testing.T) {
	failed, regressed := errors.New("failed"), Regressed.Err("regressed")
	unsure := Inconclusive.Err("not decided")
	for _, tc := range []struct{ a, b, want error }{
		{nil, nil, nil}, {unsure, nil, unsure}, {unsure, regressed, regressed}, {regressed, unsure, regressed},
		{regressed, failed, failed}, {nil, regressed, regressed},
	} {
		if got := Gravest(tc.a, tc.b); got != tc.want {
			t.Errorf("%v and %v: %v", tc.a, tc.b, got)
		}
	}
}
