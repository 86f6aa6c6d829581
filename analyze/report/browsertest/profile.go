package browsertest

import "github.com/eideticker/eideticker/analyze/result"

// Profile returns a native profile of a window with an index. The frames of some numbers are late
// by four frames each. name is that of a function, a thread, a wait and a request.
func Profile(w *result.Window, index int, late []int, name string) *result.Profile {
	const ms = 1_000_000
	at := func(frame int) int64 { return w.StartNS + w.Times.Time[frame-w.Times.First] }
	span := func(value, within float64) result.Span {
		return result.Span{Value: value * ms, Low: max(0, value-within) * ms, High: (value + within) * ms}
	}
	p := &result.Profile{
		Traces: []result.ProfileTrace{
			{Name: "native", Engine: "perf", Way: "samples", Why: "the default", Events: 48_311, Lost: 12,
				BeginNS: w.StartNS, EndNS: w.EndNS, Clock: "the recording's clock", Unnamed: 0.62, Cut: 0.03},
			{Name: "page", Engine: "chromium", Way: "attached", Why: "attach", Events: 9120, BeginNS: w.StartNS,
				EndNS: w.EndNS, ClockNS: 310_000, Clock: "±0.31 ms (41 requests, 6 inputs; drift +12…+19 ppm)"},
		},
		LateFrames: 14, OtherFrames: 231,
		Warnings: []string{"12 samples are lost in 1 gap. Times of functions may be too short: " + name},
	}
	for i, f := range []result.ProfileFunction{
		{Name: "heavyLoop", File: "https://shop.test/app.js", Line: 4, Language: "javascript", Calls: -1},
		{Name: "onFrame", File: "https://shop.test/app.js", Line: 31, Language: "javascript", Calls: 118},
		{Name: "v8::internal::Heap::CollectGarbage", Module: "chromium", Calls: -1},
		{Name: "v8::internal::Execution::Call", Module: "chromium", Calls: -1},
		{Name: "blink::LocalFrameView::UpdateAllLifecyclePhases", Module: "chromium", Calls: -1},
		{Name: "base::MessagePumpDefault::Run", Module: "chromium", Calls: -1},
		{Module: "/usr/lib/chromium/chromium", Calls: -1},
		{Name: "futex_wait_queue", Module: "kernel", Language: "kernel", Calls: -1},
		{Name: "base::WaitableEvent::Wait", Module: "chromium", Calls: -1},
		{Name: "Layout", Language: "category", Calls: 40},
		{Name: name, Module: name, File: name, Calls: 3},
		{Name: "memcpy", Module: "libc.so.6", Calls: 4_120_331},
	} {
		f.SelfNS, f.TotalNS = int64(312*ms/(i+1)), int64(402*ms/(i+1))
		p.Functions = append(p.Functions, f)
	}
	const step = 4 * ms
	for i, thread := range []string{"CrRendererMain", "VizCompositorThread", "Compositor", "ThreadPoolForegroundWorker",
		"Chrome_ChildIOThread", "CrGpuMain", name, "ThreadPoolServiceThread", "GpuMemoryThread"} {
		t := result.ProfileThread{Process: 4700 + i%3, ID: 4711 + i, Name: thread, FromNS: w.StartNS, StepNS: step,
			ProcessName: []string{"chromium renderer", "chromium gpu", "chromium"}[i%3]}
		for k := range int((w.EndNS - w.StartNS) / step) {
			share := (k*37 + i*11) % (70 / (i + 1))
			for _, n := range late {
				if from := at(n - 4); i == 0 && t.FromNS+int64(k)*step >= from && t.FromNS+int64(k)*step < at(n) {
					share = 96
				}
			}
			t.Lane = append(t.Lane, uint8(share))
			t.RunningNS += int64(share) * step / 100
		}
		p.Threads = append(p.Threads, t)
	}
	node := func(function int, value, within float64, callers ...result.ProfileNode) result.ProfileNode {
		s := span(value, within)
		return result.ProfileNode{Function: function, NS: int64(s.Value), LowNS: int64(s.Low), HighNS: int64(s.High),
			Samples: int64(value), Callers: callers}
	}
	for i, n := range late {
		from, to := at(n-4), at(n)
		length := float64(to-from) / ms
		part := func(share float64) float64 { return share * length }
		loop := node(5, part(0.5), 2)
		frame := node(1, part(0.5), 2, node(3, part(0.5), 2, node(4, part(0.5), 2, loop)))
		main := result.ProfileActive{Thread: 0, Running: span(part(0.83), 3), Runnable: span(part(0.05), 0.4),
			Waiting: span(part(0.12), 0), FunctionNS: span(part(0.5), 2), Sampled: true,
			Tree: []result.ProfileNode{node(0, part(0.5), 2, frame),
				node(2, part(0.2), 1, node(0, part(0.15), 1, frame), node(10, part(0.05), 1)), node(6, part(0.1), 1),
				node(10, part(0.03), 0)},
			Waits: []result.ProfileWait{
				{NS: 4 * ms, Times: 1, BeginNS: from + 2*ms, EndNS: from + 6*ms, Functions: []int{7, 8, 5}, WokenBy: 2},
				{NS: 3 * ms, Times: 4, BeginNS: from + 9*ms, EndNS: from + 11*ms, Functions: []int{10, -1},
					WokenBy: -1}}}
		other := result.ProfileActive{Thread: 1, Running: span(part(0.09), 1), Waiting: span(part(0.5), 0),
			Function: -1, Tree: []result.ProfileNode{node(11, part(0.09), 1)}}
		hostile := result.ProfileActive{Thread: 6, Running: span(0.12, 0.1), Function: -1}
		p.Late = append(p.Late, result.ProfileLate{Window: index, Frame: n, FromNS: from, ToNS: to,
			Response: i == 2, Threads: []result.ProfileActive{main, other, hostile}})
		p.Events = append(p.Events,
			result.ProfileEvent{Kind: "gc", Name: "MinorGC", EarliestNS: from + 3*ms, LatestNS: from + 3*ms + 620_000,
				DurationNS: 6 * ms, Frame: n},
			result.ProfileEvent{Kind: "long-task", Name: "RunTask", EarliestNS: from + 2*ms, LatestNS: from + 2*ms,
				DurationNS: 52 * ms, Frame: n},
			result.ProfileEvent{Kind: "missed-frame", Name: name, Thread: 1, EarliestNS: from + 17*ms, LatestNS: to,
				Frame: -1})
	}
	p.EventsLeft = 3
	p.Claims = []result.ProfileClaims{{Trace: name, Window: index, By: result.ByStrip, Frames: 120, Matched: 118,
		Delay: span(4.1, 1), Jank: 3, Harmless: 1, Late: len(late), CalledGood: len(late), GoodFrames: late}}
	p.Tests = []result.ProfileTest{
		{Function: 2, LateNS: 11_200_000, LowNS: 9_800_000, HighNS: 12_900_000, OtherNS: 300_000, FrameNS: 33 * ms,
			Frames: 14, P: 0.002, Named: true},
		{Function: 10, LateNS: 3 * ms, LowNS: ms, HighNS: 6 * ms, OtherNS: 2 * ms, FrameNS: 33 * ms,
			Frames: 14, P: 0.31}}
	if len(late) > 0 {
		p.Sockets = []result.SocketWait{
			{Thread: 4, Call: "recvfrom", BeginNS: at(late[0] - 3), EndNS: at(late[0] - 1), Bytes: 16_384,
				Request: "https://shop.test/api/cart", LinkNS: at(late[0]-3) + 2*ms,
				WokenNS: at(late[0]-1) + ms, WokenThread: 1},
			{Thread: -1, Call: "poll", BeginNS: at(late[0]), EndNS: at(late[0]) + ms, Request: name, WokenThread: -1}}
	}
	return p
}
