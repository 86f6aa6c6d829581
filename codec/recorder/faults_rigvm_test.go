//go:build linux && rigvm

package recorder

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/v4l2"
	"github.com/eideticker/eideticker/codec/recording"
)

// hdmi is the VM's HDMI receiver; see TestVMKilledWhileRecording.
const hdmi = "/dev/video0"

// Controls of vivid, and values of its menus: drivers/media/test-drivers/vivid/vivid-ctrls.c.
const (
	signalMode   = "DV Timings Signal Mode"
	noSignal     = 1
	noLock       = 2
	outOfRange   = 3
	selected     = 4
	timings      = "DV Timings"
	transfer     = "Transfer Function"
	perceptual   = 7 // SMPTE 2084, which is HDR
	dropped      = "Percentage of Dropped Buffers"
	wrapSequence = "Wrap Sequence Number"
	wrapStamp    = "Wrap Timestamp"
	disconnect   = "Disconnect"
	errorFlag    = "Inject V4L2_BUF_FLAG_ERROR"
	failReqbufs  = "Inject VIDIOC_REQBUFS Error"
	failQbuf     = "Inject VIDIOC_QBUF Error"
	failStreamOn = "Inject VIDIOC_STREAMON Error"
	failStream   = "Inject Fatal Streaming Error"
)

// fault is one row of the table: what happens to a recording, and what it must come to.
type fault struct {
	name   string
	signal string // the timings that the receiver sees at first; "" is usual
	params string // of the source, beside the usual ones
	before []act  // the source is opened
	during []act  // the recording, which ends with the last of them
	want   outcome
	rare   bool // with EIDETICKER_SOAK only: another row and tests of v4l2 have the same kind of fault
}

const usual = "640x480p59"

// outcome has the expectations of one row, beside those of all rows: see check.
type outcome struct {
	lost     []frame.Cause // each must have cost frames
	formats  []string      // of the segments; nil is the usual one alone
	told     []string      // events, in order and once each
	flagged  bool          // some frames are
	past32   bool          // the numbers go beyond 32 bits
	reasons  []string      // why the signal could not be recorded, each time: a part of the reason
	restarts []string      // why the stream was restarted, each time: a part of the reason
}

// faults is the table.
func faults() []fault {
	return []fault{
		{name: "nothing", rare: true, during: acts(stored(30))},
		{name: "10 % dropped buffers", before: acts(set(dropped, 10)), during: acts(stored(100)),
			want: outcome{lost: missing(frame.DriverLost)}},
		{name: "wrapped sequence", before: acts(set(wrapSequence, 1)), during: acts(stored(140)), // it wraps after 128
			want: outcome{past32: true}},
		{name: "wrapped timestamp", rare: true, before: acts(set(wrapStamp, 1)), during: acts(stored(40)),
			want: outcome{told: events("timestamps not used")}},
		{name: "buffers flagged ERROR", during: acts(stored(10), set(errorFlag, 1), told("damaged frames"),
			set(errorFlag, 1), stored(20)),
			want: outcome{told: events("damaged frames"), flagged: true}},
		{name: "no signal, then signal", during: acts(stored(10), set(signalMode, noSignal), told("signal lost"),
			set(signalMode, selected), told("signal back"), stored(20)),
			want: outcome{reasons: reasons("no cable"), lost: missing(frame.SignalLost),
				told: events("signal lost", "signal back")}},
		{name: "no lock, then lock", rare: true,
			during: acts(stored(10), set(signalMode, noLock), told("signal lost"), set(signalMode, selected),
				told("signal back"), stored(20)),
			want: outcome{reasons: reasons("signal without lock"), lost: missing(frame.SignalLost),
				told: events("signal lost", "signal back")}},
		{name: "out of range, then in it", rare: true,
			during: acts(stored(10), set(signalMode, outOfRange), told("signal lost"), set(signalMode, selected),
				told("signal back"), stored(20)),
			want: outcome{reasons: reasons("out of the receiver's range"), lost: missing(frame.SignalLost),
				told: events("signal lost", "signal back")}},
		{name: "600p, 480p, 600p", signal: "800x600p60",
			during: acts(stored(10), see("720x480p59"), told("format changed"), stored(10), see("800x600p60"),
				told("format changed"), stored(10)),
			want: outcome{lost: missing(frame.FormatChange), formats: []string{"800x600 YUYV", "720x480 YUYV",
				"800x600 YUYV"}, told: events("format changed", "signal described", "format changed",
				"signal described")}},
		{name: "no signal, then another",
			during: acts(stored(10), set(signalMode, noSignal), told("signal lost"), see("800x600p60"),
				told("format changed"), stored(10)),
			want: outcome{reasons: reasons("no cable"), formats: []string{"640x480 YUYV", "800x600 YUYV"},
				told: events("signal lost", "signal back", "format changed", "signal described")}},
		{name: "interlaced, then progressive", during: acts(stored(10), see("1920x1080i30"), told("signal refused"),
			see(usual), told("signal back"), stored(10)),
			want: outcome{reasons: reasons("is interlaced"), lost: missing(frame.SignalRefused),
				told: events("signal refused", "signal back")}},
		{name: "another size than asked for", rare: true, params: "&size=640x480",
			during: acts(stored(10), see("800x600p60"), told("signal refused"), see(usual), told("signal back"),
				stored(10)),
			want: outcome{lost: missing(frame.SignalRefused), told: events("signal refused", "signal back")}},
		{name: "HDR in the same mode", during: acts(stored(10), set(transfer, perceptual), told("signal described"),
			stored(10)),
			want: outcome{lost: missing(frame.FormatChange), formats: []string{"640x480 YUYV", "640x480 YUYV"},
				told: events("signal described")}},
		{name: "disconnect and return", during: acts(stored(10), set(disconnect, 1), told("device back"), stored(20)),
			want: outcome{lost: missing(frame.DeviceGone), told: events("device gone", "device back")}},
		{name: "failing REQBUFS", before: acts(set(failReqbufs, 1), refused),
			during: acts(stored(10), set(failReqbufs, 1), set(failStream, 1), stored(20)),
			want:   outcome{lost: missing(frame.DriverLost), restarts: reasons(takeBack, "get 6 buffers")}},
		// A buffer is given a second time, and nothing is lost: v4l2.TestInjectedErrors sees that
		// the driver refuses it.
		{name: "failing QBUF", rare: true, before: acts(set(failQbuf, 1)),
			during: acts(stored(10), set(failQbuf, 1), stored(20))},
		{name: "failing STREAMON", before: acts(set(failStreamOn, 1)),
			during: acts(stored(10), set(failStreamOn, 1), set(failStream, 1), stored(20)),
			want: outcome{lost: missing(frame.DriverLost),
				restarts: reasons("start the stream", takeBack, "start the stream")}},
		{name: "fatal error of the stream", rare: true, during: acts(stored(10), set(failStream, 1), stored(30)),
			want: outcome{lost: missing(frame.DriverLost), restarts: reasons(takeBack)}},
		{name: "asked for by another program", during: acts(stored(10), anotherProgram, stored(20))},
	}
}

// What a fatal error of the stream shows as: takeBack, or giveBuffer if the source was about to
// give one.
const (
	takeBack   = "take a buffer back from"
	giveBuffer = "queue buffer"
)

func acts(all ...act) []act                    { return all }
func missing(all ...frame.Cause) []frame.Cause { return all }
func events(all ...string) []string            { return all }
func reasons(all ...string) []string           { return all }

// TestRecordings goes through the table. It prints a line for each row with what became of its
// frames.
//
// Fault: The driver drops frames, or a counter wraps
// Fault: No cable, no signal, no lock or out of range
// Fault: The new signal is interlaced, protected or excluded by the URI
// Fault: The capture device is unplugged and returns
// Fault: The driver refuses memory, a buffer or the start
// Fault: Another program opens the device meanwhile
func TestRecordings(t *testing.T) {
	var lines []string
	for _, f := range faults() {
		if f.rare && os.Getenv("EIDETICKER_SOAK") == "" {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			res, kinds := f.record(t)
			lines = append(lines, fmt.Sprintf("%-28s  %s; %s", f.name, accountText(res), strings.Join(kinds, ", ")))
		})
	}
	t.Logf("what became of the frames:\n%s", strings.Join(lines, "\n"))
}

// record makes the recording of a row and checks it.
func (f fault) record(t *testing.T) (Result, []string) {
	s := newScene(t)
	s.do(see(cmp.Or(f.signal, usual)))
	s.do(f.before...)
	src, err := OpenSource(t.Context(), "v4l2:"+hdmi+"?format=YUYV&wait=30s"+f.params)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.eid")
	res, err := s.record(src, path, f.during)
	if err = errors.Join(err, src.Close()); err != nil {
		t.Error(err)
	}
	f.check(t, res, path, s.kinds())
	holdReasons(t, "stream restarted", s.heard("stream restarted"), f.want.restarts)
	if f.want.reasons != nil {
		holdReasons(t, "signal lost", append(s.heard("signal lost"), s.heard("signal refused")...), f.want.reasons)
	}
	return res, s.kinds()
}

// holdReasons compares the reasons of events with the expected parts. An event must not repeat.
func holdReasons(t *testing.T, what string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s for the reasons %q, want %q", what, got, want)
		return
	}
	for i := range got {
		given := want[i] == takeBack && strings.Contains(got[i], giveBuffer) &&
			strings.Contains(got[i], unix.EIO.Error())
		if !strings.Contains(got[i], want[i]) && !given {
			t.Errorf("%s for the reason %q, want %q", what, got[i], want[i])
		}
	}
}

// check compares a recording with its row and with the rules for all rows. The account balances, in
// the result and in the file. The file verifies. Each event occurs once. Each missing frame has a
// cause.
func (f fault) check(t *testing.T, res Result, path string, kinds []string) {
	t.Helper()
	t.Log(accountText(res), kinds)
	if !res.balanced() || res.Total == 0 || res.Ended != interrupted {
		t.Errorf("ended %s with %+v", res.Ended, res.Account)
	}
	for _, cause := range f.want.lost {
		if !slices.ContainsFunc(res.Lost, func(l Loss) bool { return l.Cause == cause }) {
			t.Errorf("no frame is missing for %q: %v", cause, res.Lost)
		}
	}
	if got := f.want.flagged; got != (res.Flagged > 0) {
		t.Errorf("%d frames are flagged", res.Flagged)
	}
	if f.want.past32 != (res.Last > 1<<32) {
		t.Errorf("the last number is %d", res.Last)
	}
	// these are held by their reasons
	kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "stream restarted" })
	if !slices.Equal(kinds, f.want.told) {
		t.Errorf("told %q, want %q", kinds, f.want.told)
	}
	formats := f.want.formats
	if formats == nil {
		formats = []string{"640x480 YUYV"}
	}
	var got []string
	for _, s := range res.Segments {
		if s.Frames > 0 {
			got = append(got, s.Format.String())
		}
	}
	if !slices.Equal(got, formats) {
		t.Errorf("segments %q, want %q", got, formats)
	}
	checkFile(t, path, res)
}

func checkFile(t *testing.T, path string, res Result) {
	t.Helper()
	report, err := recording.Verify(t.Context(), path, nil)
	if err != nil || len(report.Problems) > 0 || !report.Complete || report.Checked != int(res.Stored) {
		t.Errorf("verify: %+v, %v", report, err)
	}
	kept, err := summarize(path)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(kept.Account) != fmt.Sprint(res.Account) || len(kept.Segments) != len(res.Segments) {
		t.Errorf("the file says %+v, the result %+v", kept.Account, res.Account)
	}
}

func accountText(r Result) string {
	text := fmt.Sprintf("%d stored (%d flagged) + %d missing = %d", r.Stored, r.Flagged, r.Missing, r.Total)
	for i, l := range r.Lost {
		text += fmt.Sprintf("%s%d %v", map[bool]string{true: ": ", false: ", "}[i == 0], l.Frames, l.Cause)
	}
	if len(r.Segments) > 1 {
		text += fmt.Sprintf(" in %d segments", len(r.Segments))
	}
	return text
}

// anotherProgram tries to record the recorded device, and must fail.
func anotherProgram(s *scene) {
	src, err := OpenSource(s.t.Context(), "v4l2:"+hdmi)
	if err == nil {
		err = errors.Join(errors.New("opened twice"), src.Close())
	}
	if !errors.Is(err, v4l2.ErrBusy) {
		s.t.Errorf("another program was told %v, want that the device is busy", err)
	}
	s.t.Log(err)
}

// refused tries to open the source, which must fail, and say of which device.
func refused(s *scene) {
	src, err := OpenSource(s.t.Context(), "v4l2:"+hdmi)
	if err == nil {
		err = errors.Join(errors.New("nothing"), src.Close())
	}
	if !strings.Contains(err.Error(), hdmi) {
		s.t.Errorf("refused with %v", err)
	}
	s.t.Log(err)
}

// TestRecordingIntoAFullDisk ends with the signal still there: the disk is what fails.
func TestRecordingIntoAFullDisk(t *testing.T) {
	s := newScene(t)
	s.do(see(usual))
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	src, err := OpenSource(t.Context(), "v4l2:"+hdmi+"?format=YUYV&wait=30s")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a.eid")
	res, err := s.record(src, path, acts(func(s *scene) { <-s.over })) // nothing else ends it
	if cerr := src.Close(); cerr != nil {
		t.Error(cerr)
	}
	if !errors.Is(err, unix.ENOSPC) || res.Ended != writeFailed || !res.balanced() {
		t.Errorf("%v, ended %s, %+v", err, res.Ended, res.Account)
	}
	t.Log(accountText(res))
	if _, err := recording.Repair(path); err != nil {
		t.Error(err)
	}
	if report, err := recording.Verify(t.Context(), path, nil); err != nil || len(report.Problems) > 0 ||
		report.Checked != int(res.Stored) {
		t.Errorf("verify: %+v, %v", report, err)
	}
}
