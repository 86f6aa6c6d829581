package api

// Schedule is a request for runs that repeats by itself.
type Schedule struct {
	Name     string   `json:"schedule"`
	On       string   `json:"on,omitempty" doc:"feed whose new builds start it"`
	Cron     string   `json:"cron,omitempty"`
	Timezone string   `json:"tz,omitempty"`
	Tests    []string `json:"tests"`
	Devices  []string `json:"devices" doc:"with needs: those that it has chosen"`
	Needs    []string `json:"needs,omitempty" doc:"labels by which a hub chooses a device for each test"`
	Browsers []string `json:"browsers" doc:"the subject first, then rivals"`
	Control  string   `json:"control,omitempty"`
	Pool     string   `json:"pool,omitempty" doc:"whether its devices share series, or why they do not"`
	Runs     int      `json:"runs" doc:"blocks per point"`
	Class    string   `json:"class" doc:"\"now\", \"check\", \"watch\" or \"fill\""`
	Paused   bool     `json:"paused"`
	Reason   string   `json:"reason,omitempty" doc:"why it is paused, or cannot run"`
	NextNS   int64    `json:"next_wall_ns" doc:"0: when a build comes, or never"`
	LastNS   int64    `json:"last_wall_ns" doc:"its last job was queued; 0: never"`
	LastJob  string   `json:"last_job,omitempty"`
	Queued   int      `json:"queued" doc:"jobs that wait or run"`
	Points   int      `json:"points"`
	Gap      string   `json:"gap,omitempty" doc:"latest build without a point since the last point, with the reason"`
}

// Schedules is the result of schedule.list.
type Schedules struct {
	Schedules []Schedule `json:"schedules"`
}

// ScheduleRun are the parameters of schedule.run.
type ScheduleRun struct {
	Schedule string `json:"schedule"`
	Build    string `json:"build,omitempty" doc:"of its feed; the newest if not given"`
}

// ScheduleStarted is the result of schedule.run.
type ScheduleStarted struct {
	Jobs []string `json:"jobs"`
}

// SchedulePause are the parameters of schedule.pause.
type SchedulePause struct {
	Schedule string `json:"schedule"`
	Paused   bool   `json:"paused"`
	Reason   string `json:"reason,omitempty" limit:"300 bytes"`
}

// Build is one of a feed.
type Build struct {
	Feed     string `json:"feed"`
	Seq      int64  `json:"seq" doc:"order in its feed"`
	Name     string `json:"build"`
	Revision string `json:"revision,omitempty"`
	Parent   string `json:"parent,omitempty"`
	Subject  string `json:"subject,omitempty" doc:"what it changes, such as the first line of a commit's message"`
	WallNS   int64  `json:"wall_ns" doc:"when it was made"`
	URL      string `json:"url,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
	State    string `json:"state" doc:"\"usable\", \"broken\" or \"gone\""`
	Reason   string `json:"reason,omitempty" doc:"why it is not usable"`
}

// BuildListParams are those of build.list.
type BuildListParams struct {
	Feed  string `json:"feed"`
	Limit int    `json:"limit,omitempty" limit:"1 to 1000" doc:"latest builds; 100 if not given"`
}

// BuildList is the result of build.list, newest first.
type BuildList struct {
	Builds []Build `json:"builds"`
	Reason string  `json:"reason,omitempty" doc:"why the feed cannot be read"`
}
