package recorder

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// Four sources on the clock at once, and a fifth that fails: it leaves the others at work.
func TestSeveralAtOnce(t *testing.T) {
	dir := t.TempDir()
	var inputs []Input
	for i, scene := range []string{"web", "noise", "page", "checker"} {
		src, err := OpenSource(t.Context(), "synth:"+scene+"?size=64x48&pace=realtime")
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		inputs = append(inputs, Input{src, filepath.Join(dir, fmt.Sprint(i, ".eid")),
			Options{Duration: 400 * time.Millisecond}})
	}
	broken := errors.New("the cable is out")
	failing := &fakeSource{clocked: true, steps: frames(0, 1, 2), fail: broken}
	inputs = append(inputs, Input{failing, filepath.Join(dir, "failing.eid"), Options{}})
	inputs = append(inputs, Input{&fakeSource{steps: frames(0)}, filepath.Join(dir, "nowhere", "a.eid"), Options{}})

	clock := timeline.Monotonic()
	began := clock.Now()
	outcomes := RecordAll(t.Context(), inputs)
	within := timeline.Interval{Earliest: began, Latest: clock.Now()}
	for i, out := range outcomes[:4] {
		r := out.Result
		if out.Err != nil || r.Ended != durationOver || !r.balanced() || r.Last != 23 {
			t.Errorf("%s: %v, ended %s, %+v", inputs[i].Path, out.Err, r.Ended, r.Account)
		}
		report, err := recording.Verify(t.Context(), r.Path, nil)
		if err != nil || len(report.Problems) > 0 || report.Checked != int(r.Stored) {
			t.Errorf("verify %s: %+v, %v", r.Path, report, err)
		}
	}
	if out := outcomes[4]; !errors.Is(out.Err, broken) || out.Result.Stored != 3 || out.Result.Ended != sourceFailed {
		t.Errorf("the failing one: %v, %+v", out.Err, out.Result)
	}
	if out := outcomes[5]; out.Err == nil || out.Result.Path != "" {
		t.Errorf("the one that cannot begin: %v, %+v", out.Err, out.Result)
	}
	oneClock(t, within, outcomes[:4])
}

// oneClock holds the times of recordings against the rig's clock.
func oneClock(t *testing.T, within timeline.Interval, outcomes []Outcome) {
	t.Helper()
	for _, out := range outcomes {
		r, err := recording.Open(out.Result.Path)
		if err != nil {
			t.Fatal(err)
		}
		first, errFirst := r.Meta(0)
		last, errLast := r.Meta(r.Frames() - 1)
		if err := errors.Join(errFirst, errLast, r.Close()); err != nil {
			t.Fatal(err)
		}
		if first.Sampled.Latest < within.Earliest || last.Sampled.Earliest > within.Latest {
			t.Errorf("%s is from %v to %v, which is not within %v", out.Result.Path, first.Sampled, last.Sampled,
				within)
		}
	}
}
