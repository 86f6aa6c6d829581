package api

// EventMethod is the method of the notifications that carry events.
const EventMethod = "event"

// Event is something that has happened. Beside the first three fields it has the one that its kind
// names, and job the phase's too.
type Event struct {
	Seq        uint64       `json:"seq" doc:"increases with each event, over restarts too"`
	TimeWallNS int64        `json:"time_wall_ns"`
	Kind       string       `json:"kind" doc:"job, phase, run, device, log, record, store, fleet or trend"`
	Job        *Job         `json:"job,omitempty" doc:"a job was queued, has begun, made a run, or ended"`
	Phase      *Phase       `json:"phase,omitempty" doc:"how far a job is; job_id says which"`
	JobID      string       `json:"job_id,omitempty" doc:"of phase, run and record"`
	Run        *Made        `json:"run,omitempty" doc:"a run of a job is over"`
	Device     *Device      `json:"device,omitempty" doc:"what a device is at has changed"`
	Log        *Log         `json:"log,omitempty"`
	Record     *Record      `json:"record,omitempty" doc:"how a recording is going, twice a second"`
	Store      *Change      `json:"store,omitempty" doc:"a run was added, changed or deleted"`
	Fleet      *FleetChange `json:"fleet,omitempty" doc:"a job or a rig of the fleet has changed: get it anew"`
	Trend      *TrendChange `json:"trend,omitempty" doc:"something of schedules or trends has changed"`
}

// Log is a line of the daemon's log.
type Log struct {
	Level   string            `json:"level" doc:"\"info\", \"warn\", \"error\""`
	Message string            `json:"message"`
	Fields  map[string]string `json:"fields,omitempty"`
}

// Record is how a recording is going.
type Record struct {
	Device string `json:"device"`
	Capture
}

// Change is one of the store.
type Change struct {
	ID   string `json:"id" doc:"of a run or a set; empty after changes by hand"`
	What string `json:"what" doc:"\"added\", \"changed\", \"deleted\""`
	Why  string `json:"why,omitempty" doc:"\"retention\": deleted to make room; \"by hand\": changed by others"`
}

// FleetChange is one of the fleet: of a rig, of a job, or of many if neither is given.
type FleetChange struct {
	Rig string `json:"rig,omitempty"`
	Job string `json:"job,omitempty"`
}

// TrendChange is one of schedules and trends.
type TrendChange struct {
	What   string `json:"what" doc:"\"schedule\", \"points\", \"change\", \"alert\" or \"bisect\""`
	ID     int64  `json:"id,omitempty" doc:"of the change or the alert"`
	Bisect string `json:"bisect,omitempty" doc:"ID of the bisection"`
}

// SubscribeParams are those of subscribe.
type SubscribeParams struct {
	// FromSeq is a pointer, since 0 is all there are.
	FromSeq *uint64  `json:"from_seq,omitempty" doc:"last event that the client has (default: only new events)"`
	Kinds   []string `json:"kinds,omitempty" doc:"only these; all if not given"`
}

// Subscribed is the result of subscribe.
type Subscribed struct {
	Seq    uint64 `json:"seq" doc:"of the latest event there is"`
	Missed bool   `json:"missed" doc:"events after from_seq are gone, or it is unknown: get the state anew"`
}

// PreviewParams are those of preview.start.
type PreviewParams struct {
	Device string `json:"device"`
}

// PreviewStarted is the result of preview.start.
type PreviewStarted struct {
	Device   string `json:"device"`
	MaxWidth int    `json:"max_width_px"`
	MaxRate  int    `json:"max_pictures_per_s"`
}

// PictureInfo stands as JSON in the comment segment of a preview's JPEG.
type PictureInfo struct {
	Device     string `json:"device"`
	TimeWallNS int64  `json:"time_wall_ns" doc:"when the frame was taken"`
	Width      int    `json:"width_px" doc:"of the screen, not of the picture"`
	Height     int    `json:"height_px"`
}
