package session

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/page"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/strip/payload"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/suite"
)

// TestMessagesInsideThePicture plays the page that sends messages, in both forms. Each message
// that it queued arrives whole, or is counted. Its long tasks lie within the pauses that the
// frames show.
func TestMessagesInsideThePicture(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		browser string
		form    payload.Form
	}{{"chromium", payload.Cells}, {"firefox", payload.Exact}} {
		t.Run(c.browser+" "+string(c.form), func(t *testing.T) {
			t.Parallel()
			needBrowsers(t, c.browser)
			takeTurn(t)
			tests := standardTests(t)
			test := tests[slices.IndexFunc(tests, func(s *suite.Test) bool { return s.Name == "tell" })]
			dir := filepath.Join(t.TempDir(), "run")
			record, found, err := counted(t, Options{Test: test, Device: theLocalDevice(t), Browser: c.browser,
				Dir: dir, Program: "test", MaxLost: 0.9, NoPictures: true, NoVideo: true, Progress: untold{},
				form: c.form})
			if err != nil || record.State != Passed {
				t.Fatalf("%s %s, %v", record.State, record.Reason, err)
			}
			if record.Checks == 0 || len(record.ChecksFailed) > 0 {
				t.Errorf("%d checks were made: %s", record.Checks, checksOf(t, dir))
			}
			file, err := recording.Open(filepath.Join(dir, runfolder.RecordingFile))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close() // only read
			told := readEarlier(t.Context(), filepath.Join(dir, runfolder.RecordingFile), file).report.Told
			w := &found.Results.Windows[0]
			ch := w.Channel
			if ch == nil || ch.Form != string(c.form) {
				t.Fatalf("channel %+v of %+v", ch, told)
			}
			t.Logf("%+v drawn; %d messages whole, %d packets lost", told, ch.Messages, ch.Lost+ch.Before)
			// The last packets may be in no frame, if a busy browser draws several of them at once.
			// More are only missing with frames.
			const last = 10
			unseen, lostFrames := told.Packets-ch.Packets-ch.Lost-ch.Before, int64(0)
			for _, l := range w.Times.Lost {
				lostFrames += int64(l.Frames)
			}
			if unseen < 0 || unseen > last+lostFrames {
				t.Errorf("%d packets of %d neither arrived nor are lost; %d frames are lost", unseen, told.Packets,
					lostFrames)
			}
			drawn := told.Messages - told.Unsent
			if ch.Messages > drawn || ch.Messages+ch.Lost+ch.Before+unseen < drawn ||
				ch.Lost == 0 && ch.Bytes > told.Bytes {
				t.Errorf("%d messages of %d arrived whole", ch.Messages, drawn)
			}
			long := make([]byte, map[payload.Form]int{payload.Cells: 300, payload.Exact: 8000}[c.form])
			for i := range long {
				long[i] = byte(i)
			}
			if ch.Lost+ch.Before == 0 && !slices.ContainsFunc(found.Channels[0].Messages,
				func(m payload.Message) bool { return slices.Equal(m.Data, long) }) {
				t.Errorf("no message has the %d bytes that were sent first", len(long))
			}
			pauses := slices.DeleteFunc(result.FrameSpans(found.Results.Windows, 0),
				func(s result.FrameSpan) bool { return s.Lasted() < 60e6 })
			if found.Results.Profile == nil {
				t.Fatalf("no claims of the page in %d messages", ch.Messages)
			}
			works, early := 0, 0
			for _, e := range found.Results.Profile.Events {
				if e.Name != "measure work" {
					continue
				}
				works++
				from, to := e.EarliestNS, e.LatestNS+e.DurationNS
				if to < w.StartNS { // a busy browser shows its first picture after that
					early++
				} else if !slices.ContainsFunc(pauses, func(s result.FrameSpan) bool {
					return s.FromNS < to && s.ToNS > from &&
						e.Frame >= s.Frame
				}) {
					t.Errorf("%s at %d to %d ns, before frame %d, is in none of %v", e.Text, from, to, e.Frame, pauses)
				}
			}
			if works != 2 && ch.Lost+ch.Before+unseen == 0 || early > 1 {
				t.Errorf("%d measures of 2 arrived, %d of them from before the content", works, early)
			}
			trace, err := activity.Open(filepath.Join(dir, activity.TracesDir, page.TraceName))
			if err != nil {
				t.Fatal(err)
			}
			defer trace.Close() // only read
			got, want := trace.Info(), len(found.Results.Profile.Events)
			if got.Events != int64(want) || got.Recording != idOf(file) {
				t.Errorf("trace %+v of %d events", got, want)
			}
		})
	}
}
