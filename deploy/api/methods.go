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
			About: "The box's capture devices and displays with formats, sizes, rates and signal, " +
				"as `eideticker sources --json` prints them.",
			Params: Empty{}, Result: json.RawMessage{}, Errors: []Code{Failed}},
		{Name: "suite.list", Role: View, About: "The tests that a job can be started with.", Params: Empty{},
			Result: Tests{}},
		{Name: "suite.get", Role: View, About: "One test, with its file.", Params: TestName{}, Result: Test{},
			Errors: []Code{NotFound}},
		{Name: "suite.check", Role: Run, About: "The problems of a test file, as `eideticker suite check` finds them.",
			Params: CheckParams{}, Result: Checked{}},
		{Name: "suite.schema", Role: View, About: "The JSON Schema of test files.",
			Params: Empty{}, Result: json.RawMessage{}},

		{Name: "run.start", Role: Run,
			About: "Queue a test on one or more devices. The job begins when all of its devices are free. Variants, " +
				"browsers and devices take turns in random blocks. The owners of waiting jobs take turns. Finished " +
				"runs are compared with the baseline. By default that is the only one with runs of the same test, " +
				"browser and device. The result is their verdict.",
			Params: StartParams{}, Result: Job{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "run.cancel", Role: Run,
			About: "Take a job out of the queue, or end it. An interrupted run keeps its recording. A measured run " +
				"counts. Only the job's owner and admins may. Recordings end as by record.stop.",
			Params: JobID{}, Result: Job{}, Errors: []Code{Forbidden, NotFound, Conflict}},
		{Name: "network.set", Role: Run,
			About: "Change the link between device and server for the rest of a run, as a step `network` does. " +
				"Without a profile, values that are not given stay. Only the job's owner and admins may.",
			Params: NetworkParams{}, Result: Line{}, Errors: []Code{Forbidden, NotFound, Conflict, TooMany, Failed}},
		{Name: "job.list", Role: View, About: "The queue, the running jobs, and the last jobs that ended.",
			Params: Empty{}, Result: Jobs{}},
		{Name: "job.get", Role: View, About: "One job.", Params: JobID{}, Result: Job{}, Errors: []Code{NotFound}},

		{Name: "run.list", Role: View, About: "Runs in the store, newest first, by what they are.",
			Params: ListParams{}, Result: Runs{}},
		{Name: "run.get", Role: View, About: "One run, with all its values and its files.", Params: RunID{},
			Result: RunDetail{}, Errors: []Code{NotFound}},
		{Name: "run.delete", Role: Admin,
			About:  "Delete a run, or a set with all its runs. It must not be in progress or pinned.",
			Params: RunID{}, Result: Deleted{}, Errors: []Code{NotFound, Busy, Conflict, Unavailable}},
		{Name: "run.pin", Role: Run,
			About:  "Keep a run, or all runs of a set, from being deleted to make room; or no longer.",
			Params: PinParams{}, Result: PinParams{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "store.clean", Role: Admin,
			About:  "List or remove archives of sites, traces and caches. Later runs make them again.",
			Params: CleanParams{}, Result: Cleaned{}, Errors: []Code{Failed}},
		{Name: "set.list", Role: View, About: "Sets and single runs, newest first.", Params: ListParams{},
			Result: Sets{}},
		{Name: "trend", Role: View,
			About:  "A value over time: a point for each set or single run, with its interval and verdict.",
			Params: TrendParams{}, Result: Trend{}},
		{Name: "schedule.list", Role: View, About: "The schedules and their state.", Params: Empty{},
			Result: Schedules{}},
		{Name: "schedule.run", Role: Run,
			About:  "Queue the jobs of a schedule now: of the newest build of its feed, or of another one.",
			Params: ScheduleRun{}, Result: ScheduleStarted{}, Errors: []Code{NotFound, TooMany, Unavailable, Failed}},
		{Name: "schedule.pause", Role: Admin,
			About:  "Queue no more jobs of a schedule, or go on. Jobs that wait stay in the queue.",
			Params: SchedulePause{}, Result: Schedule{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "series.list", Role: View, About: "The series that schedules have made, subjects first.",
			Params: SeriesListParams{}, Result: SeriesList{}, Errors: []Code{Unavailable}},
		{Name: "series.get", Role: View,
			About:  "A series in the order of builds: points, or the finest tiles that fit the limit.",
			Params: SeriesParams{}, Result: SeriesData{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "change.list", Role: View, About: "Changes of series, newest first.",
			Params: ChangeListParams{}, Result: ChangeList{}, Errors: []Code{Unavailable}},
		{Name: "change.confirm", Role: Run,
			About:  "Judge a change by fresh runs of the builds before and at it, in random blocks.",
			Params: ChangeID{}, Result: SeriesShift{},
			Errors: []Code{NotFound, Conflict, TooMany, Unavailable, Failed}},
		{Name: "change.dismiss", Role: Run, About: "Mark a change as uninteresting. It stays so.",
			Params: ChangeID{}, Result: SeriesShift{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "point.remove", Role: Admin,
			About: "Remove the points of a rig, a set or a run from all series. They stay out. Runs are not " +
				"deleted, and found changes stay. A build without a point has a gap with the reason.",
			Params: PointRemove{}, Result: PointRemoved{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "alert.list", Role: View, About: "Alerts, newest first, and the account of false alarms.",
			Params: AlertListParams{}, Result: AlertList{}, Errors: []Code{Unavailable}},
		{Name: "alert.set", Role: Run, About: "Change the state, the owner or the note of an alert.",
			Params: AlertParams{}, Result: Alert{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "bisect.start", Role: Run,
			About: "Find the build of a feed at which a value changed. It confirms the change first. Its jobs are of " +
				"class check.",
			Params: BisectParams{}, Result: Bisect{},
			Errors: []Code{NotFound, Conflict, TooMany, Unavailable, Busy, Failed}},
		{Name: "bisect.get", Role: View, About: "One bisection with its steps and builds.", Params: BisectID{},
			Result: Bisect{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "bisect.list", Role: View, About: "Bisections, newest first.", Params: Empty{}, Result: Bisects{},
			Errors: []Code{Unavailable}},
		{Name: "bisect.cancel", Role: Run,
			About:  "End a bisection and its job. Its runs stay. Only its owner and admins may.",
			Params: BisectID{}, Result: Bisect{}, Errors: []Code{Forbidden, NotFound, Conflict, Unavailable}},
		{Name: "compare", Role: View,
			About:  "Hold a run or a set against another: the statistics of `eideticker compare`.",
			Params: CompareParams{}, Result: Compared{}, Errors: []Code{NotFound, Failed}},
		{Name: "baseline.list", Role: View, About: "The baselines.", Params: Empty{}, Result: Baselines{}},
		{Name: "baseline.set", Role: Admin,
			About: "Give a run or a set a name that compare takes, or take the name away.", Params: Baseline{},
			Result: Baselines{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "analyze.start", Role: Run,
			About:  "Measure a recording again and replace its results. The job begins when no test runs.",
			Params: AnalyzeParams{}, Result: Job{}, Errors: []Code{NotFound, Busy, Unavailable}},

		{Name: "record.start", Role: Run,
			About: "Record a device without a test, or keep its last seconds for record.keepLast. Jobs interrupt the " +
				"keeping. The device must be free, and its source must exist without a test.",
			Params: RecordParams{}, Result: Job{}, Errors: []Code{NotFound, Busy, Conflict, Unavailable, Failed}},
		{Name: "record.stop", Role: Run,
			About:  "End a device's recording and store it, or stop keeping its last seconds.",
			Params: StopParams{}, Result: Recorded{}, Errors: []Code{Forbidden, NotFound, Conflict, Failed}},
		{Name: "record.keepLast", Role: Run,
			About: "Save what a device that keeps its last seconds has kept, and go on keeping.", Params: KeepParams{},
			Result: Recorded{}, Errors: []Code{NotFound, Conflict, Failed}},

		{Name: "device.list", Role: View, About: "The devices.", Params: Empty{}, Result: DeviceList{}},
		{Name: "device.reserve", Role: Run,
			About:  "Keep a device for jobs that give the key, for a time; or end that. Its job ends first.",
			Params: ReserveParams{}, Result: Reserved{}, Errors: []Code{Forbidden, NotFound, Busy}},
		{Name: "device.quarantine", Role: Admin,
			About:  "Stop jobs from beginning on a device, or let them. Several faults of the lab in a row do it too.",
			Params: QuarantineParams{}, Result: Device{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "device.power", Role: Admin, About: "Switch a device on or off. It must not be in use.",
			Params: PowerParams{}, Result: Device{}, Errors: []Code{NotFound, Busy, Conflict, Failed}},

		{Name: "build.list", Role: View, About: "The builds of a feed, with those that are broken or gone.",
			Params: BuildListParams{}, Result: BuildList{}, Errors: []Code{NotFound}},

		{Name: "job.start", Role: Run,
			About: "Queue a test on the fleet: on any device that fits the needs, or on devices RIG/DEVICE. The hub " +
				"tries it again after a lost rig or a fault of the lab.",
			Params: JobParams{}, Result: FleetJob{}, Errors: []Code{NotFound, TooMany, Unavailable}},
		{Name: "fleet.status", Role: View, About: "The fleet, and what this rig is in it.", Params: Empty{},
			Result: FleetStatus{}},
		{Name: "fleet.rigs", Role: View, About: "The rigs of the fleet, with their devices.", Params: Empty{},
			Result: FleetRigs{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "fleet.jobs", Role: View, About: "The jobs of the fleet.", Params: FleetJobsParams{},
			Result: FleetJobs{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "fleet.job", Role: View, About: "One job of the fleet.", Params: JobID{}, Result: FleetJob{},
			Errors: []Code{NotFound, Unavailable}},
		{Name: "fleet.cancel", Role: Run,
			About: "End a job of the fleet. A job on a rig ends when the rig reports it, or is lost. Only the job's " +
				"owner and admins may.",
			Params: JobID{}, Result: FleetJob{}, Errors: []Code{Forbidden, NotFound, Conflict, Unavailable}},
		{Name: "fleet.invite", Role: Admin, About: "Let a rig join the fleet, once within an hour.",
			Params: FleetInvite{}, Result: FleetInvitation{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "fleet.drain", Role: Admin, About: "Begin no more jobs on a rig, or go on.", Params: FleetDrain{},
			Result: FleetRig{}, Errors: []Code{NotFound, Unavailable}},
		{Name: "fleet.remove", Role: Admin,
			About:  "Revoke a rig's key and close its connection. Its jobs are lost there.",
			Params: FleetRigName{}, Result: Empty{}, Errors: []Code{NotFound, Unavailable}},

		{Name: "subscribe", Role: View, Socket: true,
			About:  "Send all events in order as notifications `event`. A second call replaces the first.",
			Params: SubscribeParams{}, Result: Subscribed{}},
		{Name: "unsubscribe", Role: View, Socket: true, About: "Send no more events.", Params: Empty{},
			Result: Empty{}},
		{Name: "preview.start", Role: View, Socket: true,
			About: "Send pictures of a device's screen as binary messages: JPEGs of at most 640 x 640 pixels, up to " +
				"5 a second. A slow client gets fewer. A second call replaces the first.",
			Params: PreviewParams{}, Result: PreviewStarted{}, Errors: []Code{NotFound, TooMany}},
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
	return []string{"job", "phase", "run", "device", "log", "record", "store", "fleet", "trend"}
}
