package api

import "encoding/json"

// Method is one of the interface.
type Method struct {
	Name   string
	Role   Role
	About  string
	Params any // zero value of its type
	Result any
	Errors []Code // that it returns beside those that any method may
	// Socket says that it is there by websocket alone.
	Socket bool
}

// Methods are all there are, in the order in which they are described.
func Methods() []Method {
	return []Method{
		{Name: "rig.status", Role: View, About: "What the rig is, and what it is at.", Params: Empty{},
			Result: Status{}},
		{Name: "sources.list", Role: View,
			About: "Capture devices and displays of the box, their formats, sizes, rates and signal: the object that `eideticker sources --json` prints.", Params: Empty{}, Result: json.RawMessage{}, Errors: []Code{Failed}},
		{Name: "suite.list", Role: View, About: "The tests that a job can be started with.", Params: Empty{},
			Result: Tests{}},
		{Name: "suite.get", Role: View, About: "One test, with its file.", Params: TestName{}, Result: Test{},
			Errors: []Code{NotFound}},

		{Name: "run.start", Role: Run,
			About: "Queue a test on one or more devices. The job begins when all of its devices are free; where several wait for a device, the owners of jobs take turns.", Params: StartParams{}, Result: Job{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "run.cancel", Role: Run,
			About: "Take a job out of the queue, or end it; a run in the middle ends as interrupted and keeps its recording, and one that was measured by then counts. Only the job's owner and admins may. Recordings end as by record.stop.", Params: JobID{}, Result: Job{}, Errors: []Code{Forbidden, NotFound, Conflict}},
		{Name: "network.set", Role: Run,
			About: "Change the line between device and server while a run of a job is at work on one, for the rest of that run, as a step `network` of its test does. Only the job's owner and admins may.", Params: NetworkParams{}, Result: Line{}, Errors: []Code{Forbidden, NotFound, Conflict, TooMany, Failed}},
		{Name: "job.list", Role: View, About: "The queue, the running jobs, and the last jobs that ended.",
			Params: Empty{}, Result: Jobs{}},
		{Name: "job.get", Role: View, About: "One job.", Params: JobID{}, Result: Job{}, Errors: []Code{NotFound}},

		{Name: "run.list", Role: View, About: "Runs in the store, newest first, by what they are.",
			Params: ListParams{}, Result: Runs{}},
		{Name: "run.get", Role: View, About: "One run, with all its values and its files.", Params: RunID{},
			Result: RunDetail{}, Errors: []Code{NotFound}},
		{Name: "run.delete", Role: Admin,
			About: "Delete a run, or a set with all its runs. A run in progress cannot be deleted. Unpin a pinned one first.", Params: RunID{}, Result: Deleted{}, Errors: []Code{NotFound, Busy, Conflict, Unavailable}},
		{Name: "run.pin", Role: Run,
			About:  "Keep a run, or all runs of a set, from being deleted to make room; or no longer.",
			Params: PinParams{}, Result: PinParams{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "set.list", Role: View, About: "Sets and single runs, newest first.", Params: ListParams{},
			Result: Sets{}},
		{Name: "trend", Role: View,
			About: "A value over time: a point for each set or single run, with its interval and whether it differs from the one before.", Params: TrendParams{}, Result: Trend{}},
		{Name: "compare", Role: View,
			About:  "Hold a run or a set against another: the statistics of `eideticker compare`.",
			Params: CompareParams{}, Result: Compared{}, Errors: []Code{NotFound, Failed}},
		{Name: "baseline.list", Role: View, About: "The baselines.", Params: Empty{}, Result: Baselines{}},
		{Name: "baseline.set", Role: Admin,
			About: "Give a run or a set a name that compare takes, or take the name away.", Params: Baseline{},
			Result: Baselines{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "analyze.start", Role: Run,
			About: "Measure a run's recording anew and replace its results. The job begins when no test runs on the rig.", Params: AnalyzeParams{}, Result: Job{}, Errors: []Code{NotFound, Busy, Unavailable}},

		{Name: "record.start", Role: Run,
			About: "Record a device without a test, or keep its last seconds until they are asked for. The device must be free, and its source one that is there without a test.", Params: RecordParams{}, Result: Job{}, Errors: []Code{NotFound, Busy, Conflict, Unavailable, Failed}},
		{Name: "record.stop", Role: Run,
			About: "End a device's recording and put it into the store; of a device that keeps its last seconds, drop them and end that.", Params: StopParams{}, Result: Recorded{}, Errors: []Code{Forbidden, NotFound, Conflict, Failed}},
		{Name: "record.keepLast", Role: Run,
			About: "Save what a device that keeps its last seconds has kept, and go on keeping.", Params: KeepParams{},
			Result: Recorded{}, Errors: []Code{NotFound, Conflict, Failed}},

		{Name: "device.list", Role: View, About: "The devices.", Params: Empty{}, Result: DeviceList{}},
		{Name: "device.reserve", Role: Run,
			About: "Keep a device for jobs that give the key, for a time; or end that. What runs on it comes to its end first.", Params: ReserveParams{}, Result: Reserved{}, Errors: []Code{Forbidden, NotFound, Busy}},
		{Name: "device.quarantine", Role: Admin,
			About: "Let no job begin on a device, or let jobs begin again. The rig does it itself when several runs in a row have failed.", Params: QuarantineParams{}, Result: Device{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "device.power", Role: Admin, About: "Switch a device on or off. It must not be in use.",
			Params: PowerParams{}, Result: Device{}, Errors: []Code{NotFound, Busy, Conflict, Failed}},

		{Name: "subscribe", Role: View, Socket: true,
			About: "Send events as notifications of the method `event`, in order, none left out. A second call replaces the first.", Params: SubscribeParams{}, Result: Subscribed{}},
		{Name: "unsubscribe", Role: View, Socket: true, About: "Send no more events.", Params: Empty{},
			Result: Empty{}},
		{Name: "preview.start", Role: View, Socket: true,
			About: "Send pictures of a device's screen as binary messages, each a JPEG of at most 640 x 640 pixels, at most 5 a second, whether or not it records. A slow client gets fewer. A second call replaces the first.", Params: PreviewParams{}, Result: PreviewStarted{}, Errors: []Code{NotFound, TooMany}},
		{Name: "preview.stop", Role: View, Socket: true, About: "Send no more pictures.", Params: Empty{},
			Result: Empty{}},
	}
}

// FindMethod returns the method of a name.
func FindMethod(name string) (Method, bool) {
	for _, m := range Methods() {
		if m.Name == name {
			return m, true
		}
	}
	return Method{}, false
}

// Kinds are the kinds of events.
func Kinds() []string {
	return []string{"job", "phase", "run", "device", "log", "record", "store"}
}
