package perfetto

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/activitytest"
)

// chromium returns a reduced trace of a real Chromium 148: the first packets of a renderer.
func chromium(t testing.TB) []byte { return activitytest.Unpacked(t, "testdata/chromium.pftrace.gz") }

func TestChromium(t *testing.T) {
	raw := chromium(t)
	if !Begins(raw) {
		t.Error("the format was not recognised")
	}
	var s activitytest.Sink
	c, err := Read(bytes.NewReader(raw), &s)
	if err != nil || len(s.Faults) > 0 || c.Damaged() {
		t.Fatal(err, c, s.Faults)
	}
	if !c.Monotonic || len(c.Requests) < 20 || c.Begin < 51_330e9 || c.End > 51_360e9 {
		t.Errorf("claims %+v", c)
	}
	ended := 0
	for _, q := range c.Requests {
		if q.Ended > 0 {
			ended++
			if q.Sent >= q.First || q.First > q.Ended+4000 || !strings.HasPrefix(q.URL, "http://page.test/") {
				t.Errorf("request %+v", q)
			}
		}
	}
	if ended < 3 {
		t.Errorf("%d requests have an end", ended)
	}
	if s.Threads[0].Name != "CrRendererMain" {
		t.Errorf("threads %+v", s.Threads)
	}
	var cut activitytest.Sink
	if c, err := Read(bytes.NewReader(raw[:len(raw)/2+1]), &cut); err != nil || !c.Truncated || len(cut.Events) == 0 {
		t.Errorf("truncated: %v, %+v", err, c)
	}
}

// Parts of messages.
func number(field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), v)
}

func message(field protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), bytes.Join(parts, nil))
}

func reading(id, at uint64, parts ...[]byte) []byte {
	return message(snapshotClock, append(parts, number(clockID, id), number(clockTime, at))...)
}

var (
	thread = message(packetTrack, number(trackID, 7), message(trackThread, number(threadProcess, 1),
		number(threadID, 2), message(threadName, []byte("Main"))))
	snapshot = message(packetSnapshot, reading(monotonic, 5_000_000), reading(boottime, 9_000_000),
		reading(realtime, 1e18), reading(own, 5000, number(clockAdds, 1), number(clockUnit, 1000)))
)

func event(at uint64, parts ...[]byte) []byte {
	return message(packetOfTrace, number(packetTime, at), number(packetSequence, 1),
		message(packetEvent, append(parts, number(eventTrack, 7))...))
}

func TestPackets(t *testing.T) {
	setup := message(packetOfTrace, number(packetSequence, 1), number(packetFlags, flagCleared), snapshot, thread,
		message(packetDefaults, number(defaultsClock, own), message(defaultsEvent, number(eventTrack, 7))),
		message(packetInterned, message(internedName, number(entryID, 1), message(entryName, []byte("a\"b")))))
	named, begins, happened := number(eventNameID, 1), number(eventType, sliceBegin), number(eventType, instant)
	packet := func(at, sequence uint64, parts ...[]byte) []byte {
		return message(packetOfTrace, append(parts, number(packetTime, at), number(packetSequence, sequence))...)
	}
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = w.Write(event(1, happened, named))
	_ = w.Close()
	for _, tc := range []struct {
		name    string
		packets [][]byte
		want    []string
		skipped string
	}{
		{"differences of time", [][]byte{event(10, begins, named), event(5, number(eventType, sliceEnd))},
			[]string{`5010000 Main slice a"b 5000`}, ""},
		{"another clock of the machine", [][]byte{packet(9_000_007, 1, number(packetClock, boottime),
			message(packetEvent, happened, named, number(eventTrack, 7)))},
			[]string{`5000007 Main instant a"b 0`}, ""},
		{"unknown clock", [][]byte{packet(5, 1, number(packetClock, 99), message(packetEvent, happened))}, nil,
			"records of unknown clocks"},
		{"names that were lost", [][]byte{packet(5, 2, number(packetFlags, flagNeeds), number(packetClock, monotonic),
			message(packetEvent, happened))}, nil, "records without names"},
		{"overflowing difference", [][]byte{event(1<<62, happened, named)}, nil, "records of unknown clocks"},
		{"counter", [][]byte{event(1, number(eventType, counter), named, number(eventCounter, 42))},
			[]string{`5001000 Main counter a"b 42`}, ""},
		{"compressed", [][]byte{message(packetOfTrace, message(packetCompressed, z.Bytes()))},
			[]string{`5001000 Main instant a"b 0`}, ""},
		{"broken compression", [][]byte{message(packetOfTrace, message(packetCompressed, z.Bytes()[:8]))}, nil,
			"malformed packets"},
		{"broken packet", [][]byte{message(packetOfTrace, []byte{0xff})}, nil, "malformed packets"},
		{"broken compression", [][]byte{message(packetOfTrace, message(packetCompressed,
			[]byte{0x78, 0x9c, 0xff, 0xff}))},
			nil, "malformed packets"},
		{"legacy slice", [][]byte{event(1, message(eventLegacy, number(legacyNameID, 1), number(legacyPhase, 'X'),
			number(legacyDuration, 3)))}, []string{`5001000 Main slice a"b 3000`}, ""},
		{"legacy event of the writer's thread", [][]byte{packet(1, 1, message(packetEvent, number(eventTrack, 0),
			message(eventLegacy, number(legacyNameID, 1), number(legacyPhase, 'I'))))},
			[]string{`5001000 Main instant a"b 0`}, ""},
		{"track that is not a thread", [][]byte{message(packetOfTrace, message(packetTrack, number(trackID, 9),
			number(trackParent, 7), message(trackName, []byte("GPU")))), packet(1, 1,
			message(packetEvent, happened, named, number(eventTrack, 9)))},
			nil, ""},
		{"counter of a process", [][]byte{message(packetOfTrace, message(packetTrack, number(trackID, 9),
			message(trackProcess, number(processID, 1)))), packet(1, 1,
			message(packetEvent, number(eventType, counter), named, number(eventCounter, 7), number(eventTrack, 9)))},
			[]string{`5001000 - counter a"b 7`}, ""},
	} {
		var s activitytest.Sink
		c, err := Read(bytes.NewReader(append(slices.Clone(setup), bytes.Join(tc.packets, nil)...)), &s)
		if err != nil || len(s.Faults) > 0 {
			t.Errorf("%s: %v, %v", tc.name, err, s.Faults)
			continue
		}
		if got := s.Lines(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		if tc.skipped == "" && len(c.Skipped) > 0 || tc.skipped != "" && c.Skipped[tc.skipped] == 0 {
			t.Errorf("%s: skipped %v, want %q", tc.name, c.Skipped, tc.skipped)
		}
		if c.Wall != 1e18-5_000_000 && c.Monotonic {
			t.Errorf("%s: wall clock %d", tc.name, c.Wall)
		}
	}
	if _, err := Read(strings.NewReader("\x0a\xff\xff\xff\x7f"), &activitytest.Sink{}); err == nil {
		t.Error("a packet of 256 MiB was read")
	}
}

// TestLosses: lost packets are gaps with their cause, on the threads of their writer.
func TestLosses(t *testing.T) {
	at := func(sequence, ms uint64, parts ...[]byte) []byte { // an event of the writer's own thread
		return message(packetOfTrace, append(parts, number(packetTime, ms*1e6), number(packetClock, monotonic),
			number(packetSequence, sequence), message(packetEvent, number(eventType, instant),
				message(eventName, []byte("a")), number(eventTrack, sequence)))...)
	}
	start := message(packetOfTrace, message(packetSnapshot, reading(monotonic, 1e6), reading(boottime, 1e6)))
	for id, name := range []string{1: "Main", 2: "GPU"} {
		start = append(start, message(packetOfTrace, message(packetTrack, number(trackID, uint64(id)),
			message(trackThread, number(threadProcess, 1), number(threadID, uint64(id)),
				message(threadName, []byte(name)))))...)
	}
	end := message(packetOfTrace, message(packetSnapshot, reading(monotonic, 90e6), reading(boottime, 90e6)))
	stats := func(kind protowire.Number) []byte {
		return message(packetOfTrace, message(packetStats, message(statsBuffer, number(kind, 3))))
	}
	dropped, first := number(packetDropped, 1), append(number(packetDropped, 1), number(packetFirst, 1)...)
	for _, tc := range []struct {
		name    string
		packets [][]byte
		want    []string
	}{
		{"none", [][]byte{at(1, 10, first), at(2, 20, first), at(1, 30)}, nil},
		{"without marks of first packets", [][]byte{at(1, 10, dropped), at(2, 20, dropped)}, nil},
		{"of one writer", [][]byte{at(1, 10, first), at(2, 20, first), at(1, 30, dropped), at(2, 40)},
			[]string{"10 Main 20 " + causeDropped}},
		{"the mark has no time", [][]byte{at(1, 10, first), message(packetOfTrace, dropped, number(packetSequence, 1)),
			at(1, 30)}, []string{"10 Main 20 " + causeDropped}},
		{"overwritten begin", [][]byte{at(1, 10, first), at(2, 20, dropped)},
			[]string{"10 GPU 10 " + causeOverwritten}},
		{"overwritten begin of an old trace", [][]byte{at(1, 10, dropped), at(2, 20, dropped),
			stats(bufferOverwrites)}, []string{"10 GPU 10 " + causeOverwritten}},
		{"full buffer", [][]byte{at(1, 10, first), at(2, 20, first), stats(bufferDiscards), end},
			[]string{"10 Main 80 " + causeFull, "20 GPU 70 " + causeFull}},
		{"without a time", [][]byte{at(1, 10, first), stats(bufferLosses), at(2, 20, first)},
			[]string{"10 - 10 " + causeUnknown}},
	} {
		var s activitytest.Sink
		raw := append(slices.Clone(start), bytes.Join(tc.packets, nil)...)
		if _, err := Read(bytes.NewReader(raw), &s); err != nil || len(s.Faults) > 0 {
			t.Errorf("%s: %v, %v", tc.name, err, s.Faults)
		}
		var got []string
		for i, e := range s.Events {
			if name := "-"; e.Kind == activity.Lost {
				if e.Thread > 0 {
					name = s.Threads[e.Thread-1].Name
				}
				got = append(got, fmt.Sprint(e.At/1e6, " ", name, " ", e.Value/1e6, " ",
					activity.CauseOf(s.Functions[s.Events[i-1].Ref-1])))
			}
		}
		if slices.Sort(got); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// packed returns a list of numbers.
func packed(field protowire.Number, all ...uint64) []byte {
	var raw []byte
	for _, v := range all {
		raw = protowire.AppendVarint(raw, v)
	}
	return message(field, raw)
}

// scheduled has a thread that waits 80 ms for another one, in full events or in a batch. The kernel
// has CLOCK_BOOTTIME, 4 ms ahead.
func scheduled(batch, lost bool) []byte {
	const ms = 1e6
	event := func(at, by uint64, kind protowire.Number, parts ...[]byte) []byte {
		return message(bundleEvent, number(kernelTime, at*ms), number(kernelThread, by), message(kind, parts...))
	}
	turn := func(at, from, state, to uint64, name string) []byte {
		return event(at, from, kernelSwitch, number(switchPrevious, from), number(switchState, state),
			number(switchNext, to), message(switchName, []byte(name)))
	}
	bundle := func(cpu uint64, parts ...[]byte) []byte {
		return message(packetOfTrace, number(packetSequence, 3),
			message(packetKernel, append(parts, number(bundleCPU, cpu))...))
	}
	first := bundle(0, turn(14, 0, 0, 2, "comm"), turn(24, 2, 1, 0, ""))
	second := bundle(0, turn(114, 0, 0, 2, "comm"), turn(124, 2, 0x100, 9, "worker"), turn(134, 9, 0x20, 0, ""))
	other := bundle(1, turn(94, 0, 0, 9, "worker"), event(104, 9, kernelWaking, number(wakingThread, 2)),
		event(105, 9, kernelWakeup, number(wakingThread, 2)), turn(109, 9, 1, 0, ""))
	if batch {
		first = bundle(0, message(bundleBatch, packed(batchSwitch, 14*ms, 10*ms), packed(batchState, 0, 1),
			packed(batchNext, 2, 0), message(batchNames, []byte("comm")), packed(batchNextName, 0, 9)))
		second = bundle(0, message(bundleBatch, packed(batchSwitch, 114*ms, 10*ms, 10*ms),
			packed(batchState, 0, 0x100, 0x20), packed(batchNext, 2, 9, 0)))
		other = bundle(1, message(bundleBatch, message(batchNames, []byte("worker")),
			packed(batchSwitch, 94*ms, 15*ms), packed(batchState, 0, 1), packed(batchNext, 9, 0),
			packed(batchNextName, 0), packed(batchWaking, 104*ms, ms), packed(batchWoken, 2, 2)))
	}
	if lost {
		other = append(other, bundle(1, number(bundleLost, 1), turn(129, 0, 0, 9, "worker"))...)
	}
	return bytes.Join([][]byte{message(packetOfTrace, snapshot), first, second, other,
		message(packetOfTrace, message(packetTree,
			message(treeProcess, number(treeID, 1), message(treeCommand, []byte("/bin/app"))),
			message(treeThread, number(treeID, 2), number(treeGroup, 1), message(treeName, []byte("Main"))))),
		message(packetOfTrace, thread)}, nil)
}

// TestScheduling: switches and wakes of the kernel are states of the same threads that have slices.
// Their processes may be known later.
func TestScheduling(t *testing.T) {
	for _, batch := range []bool{false, true} {
		var s activitytest.Sink
		c, err := Read(bytes.NewReader(scheduled(batch, false)), &s)
		if err != nil || len(s.Faults) > 0 || len(c.Skipped) > 0 || c.Begin != 10e6 || c.End != 130e6 {
			t.Fatal(err, s.Faults, c)
		}
		want := []string{"10000000 Main in  0", "20000000 Main out  0", "90000000 worker in  0",
			"100000000 Main woken  0", "101000000 Main woken  0", "105000000 worker out  0", "110000000 Main in  0",
			"120000000 Main out  1", "120000000 worker in  0", "130000000 worker out  2"}
		if got := s.Lines(); !slices.Equal(got, want) {
			t.Errorf("batch %t: %q, want %q", batch, got, want)
		}
		for _, e := range s.Events {
			if e.Kind == activity.Woken && (e.Ref == 0 || s.Threads[e.Ref-1].Name != "worker") {
				t.Errorf("batch %t: woken by %d of %+v", batch, e.Ref, s.Threads)
			}
		}
		i := slices.IndexFunc(s.Threads, func(t activity.Thread) bool { return t.ID == 2 })
		if main := s.Threads[i]; main.Process != 1 || main.ProcessName != "app" {
			t.Errorf("batch %t: %+v", batch, main)
		}
	}
}

// TestKernelLosses: events that the kernel's buffers lost are gaps of all threads.
func TestKernelLosses(t *testing.T) {
	stats := func(phase, overrun uint64) []byte {
		return message(packetOfTrace, message(packetKernelStat, number(kernelPhase, phase),
			message(kernelCPU, number(cpuOverrun, overrun))))
	}
	for _, tc := range []struct {
		name string
		raw  []byte
		want string
	}{
		{"of one CPU", scheduled(false, true), causeKernel},
		{"without a time", append(append(stats(1, 5), scheduled(true, false)...), stats(2, 6)...), causeUnknown},
		{"none", append(append(stats(1, 5), scheduled(true, false)...), stats(2, 5)...), ""},
	} {
		var s activitytest.Sink
		if _, err := Read(bytes.NewReader(tc.raw), &s); err != nil || len(s.Faults) > 0 {
			t.Error(err, s.Faults)
		}
		i := slices.IndexFunc(s.Events, func(e activity.Event) bool { return e.Kind == activity.Lost })
		if got := i >= 0; got != (tc.want != "") ||
			got && (s.Events[i].Thread != 0 || activity.CauseOf(s.Functions[s.Events[i-1].Ref-1]) != tc.want) {
			t.Errorf("%s: %q, want a gap: %q", tc.name, s.Lines(), tc.want)
		}
	}
}

// frame returns a packet of the FrameTimeline.
func frame(at uint64, kind protowire.Number, parts ...[]byte) []byte {
	return message(packetOfTrace, number(packetTime, at), number(packetClock, boottime),
		message(packetFrame, message(kind, parts...)))
}

// reporter returns the packets of a compositor's frame, with a stage in it.
func reporter(track, from, to uint64, of protowire.Number, state uint64) []byte {
	slice := func(at, kind uint64, parts ...[]byte) []byte {
		return message(packetOfTrace, number(packetTime, at), number(packetClock, monotonic), message(packetEvent,
			append(parts, number(eventTrack, track), number(eventType, kind))...))
	}
	return bytes.Join([][]byte{slice(from, sliceBegin, message(eventName, []byte("PipelineReporter")),
		message(of, number(reporterState, state), number(reporterSmooth, 1), number(reporterHost, 3))),
		slice(from, sliceBegin, message(eventName, []byte("Stage"))), slice(to-1, sliceEnd), slice(to, sliceEnd),
		slice(to+1, sliceEnd)}, nil)
}

// timeline has frames of displays and surfaces, and frames of a compositor.
func timeline() []byte {
	const offset = 4_000_000 // of CLOCK_BOOTTIME
	cookie := func(n uint64) []byte { return number(frameCookie, n) }
	return bytes.Join([][]byte{message(packetOfTrace, snapshot),
		frame(offset+10, 1, cookie(1), number(displayToken, 5)), // expected
		frame(offset+10, actualDisplay, cookie(2), number(displayToken, 5), number(displayPresent, 1),
			number(displayJank, 1)),
		frame(offset+10, actualSurface, cookie(3), number(surfaceDisplay, 5), number(surfacePresent, 2),
			number(surfaceJank, 64)),
		frame(offset+18, frameEnd, cookie(1)), frame(offset+20, frameEnd, cookie(2)),
		frame(offset+20, frameEnd, cookie(3)),
		frame(offset+20, actualDisplay, cookie(4), number(displayToken, 6), number(displayPresent, 1),
			number(displayJank, 1)),
		frame(offset+21, actualSurface, cookie(5), number(surfaceDisplay, 6), number(surfacePresent, presentDropped)),
		frame(offset+30, frameEnd, cookie(4)), frame(offset+28, frameEnd, cookie(5)),
		frame(offset+40, frameEnd, cookie(9)),
		frame(offset+40, actualDisplay, cookie(6), number(displayToken, 7), number(displayJank, 2048)),
		frame(offset+39, frameEnd, cookie(6)), // before its begin
		reporter(70, 100, 120, eventReporter, 1), reporter(71, 110, 130, eventReporter2, 2),
		reporter(72, 115, 131, eventReporter2, 0), reporter(73, 120, 140, eventReporter2, 9)}, nil)
}

func TestFrames(t *testing.T) {
	var s activitytest.Sink
	c, err := Read(bytes.NewReader(timeline()), &s)
	if err != nil || len(s.Faults) > 0 || len(s.Events) > 0 {
		t.Fatal(err, s.Faults, s.Lines())
	}
	want := []activity.Frame{{Begin: 10, At: 20, Verdict: activity.Late},
		{Begin: 21, At: 28, Verdict: activity.Dropped}, {Begin: 20, At: 30}, {Begin: 100, At: 120},
		{Begin: 110, At: 130, Verdict: activity.Partial}}
	if !slices.Equal(c.Frames, want) {
		t.Errorf("frames %+v, want %+v", c.Frames, want)
	}
}

// TestChromiumFrames reads frames of a real Chromium 148 on a busy machine. The page drew in each
// animation frame.
func TestChromiumFrames(t *testing.T) {
	var s activitytest.Sink
	c, err := Read(bytes.NewReader(activitytest.Unpacked(t, "testdata/frames.pftrace.gz")), &s)
	if err != nil || len(s.Faults) > 0 || c.Damaged() {
		t.Fatal(err, s.Faults)
	}
	count := map[activity.Verdict]int{}
	for i, f := range c.Frames {
		count[f.Verdict]++
		if i > 0 && f.At <= c.Frames[i-1].At || f.At-f.Begin > 1e9 || f.Begin < 3e12 || f.At > 4e12 {
			t.Errorf("frame %+v", f)
		}
	}
	if want := map[activity.Verdict]int{activity.Good: 11, activity.Dropped: 8}; !maps.Equal(count, want) {
		t.Errorf("verdicts %v, want %v", count, want)
	}
}

// TestSleep: while the device sleeps, only CLOCK_BOOTTIME goes on. So do times of the trace.
func TestSleep(t *testing.T) {
	happened := func(clock, at uint64) []byte {
		return message(packetOfTrace, number(packetTime, at), number(packetClock, clock), message(packetEvent,
			number(eventType, instant), message(eventName, []byte("a")), number(eventTrack, 7)))
	}
	clocks := func(mono, boot uint64) []byte {
		return message(packetOfTrace, message(packetSnapshot, reading(monotonic, mono), reading(boottime, boot)))
	}
	raw := bytes.Join([][]byte{message(packetOfTrace, thread), clocks(1e9, 3e9), happened(monotonic, 1.5e9),
		clocks(2e9, 4.001e9), happened(boottime, 4.5e9), happened(boottime, 9.5e9), clocks(3e9, 10e9), // 5 s of sleep
		happened(monotonic, 3.5e9), happened(boottime, 10.6e9)}, nil)
	var s activitytest.Sink
	c, err := Read(bytes.NewReader(raw), &s)
	if err != nil || c.Slept != 4.999e9 || c.Monotonic {
		t.Fatalf("%v, %+v", err, c)
	}
	var at []int64
	for _, e := range s.Events {
		at = append(at, e.At)
	}
	if want := []int64{1.5e9, 2.499e9, 7.499e9, 8.499e9, 8.599e9}; !slices.Equal(at, want) {
		t.Errorf("times %d, want %d", at, want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(chromium(f)[:20_000])
	f.Add(message(packetOfTrace, snapshot, thread))
	f.Add(append(message(packetOfTrace, number(packetSequence, 1), snapshot, thread),
		event(1, number(eventType, instant))...))
	f.Add(timeline())
	f.Add(scheduled(false, true))
	f.Add(scheduled(true, false))
	f.Add(append(chromium(f)[:20_000], message(packetOfTrace, number(packetTime, 1e15), number(packetDropped, 1),
		message(packetStats, message(statsBuffer, number(bufferDiscards, 1))), message(packetFrame, number(1, 1)))...))
	f.Fuzz(func(t *testing.T, raw []byte) {
		Begins(raw)
		var s activitytest.Sink
		_, _ = Read(bytes.NewReader(raw), &s)
		if len(s.Faults) > 0 {
			t.Errorf("impossible records: %v", s.Faults)
		}
	})
}
