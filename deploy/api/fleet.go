package api

// FleetStatus is the result of fleet.status.
type FleetStatus struct {
	Role  string `json:"role" doc:"\"hub\", \"rig\", \"both\" or \"alone\""`
	Epoch uint64 `json:"epoch,omitempty" doc:"of a hub: greater after each adoption of a copy"`
	// Of the hub.
	Rigs         int            `json:"rigs"`
	Away         int            `json:"away" doc:"rigs that are silent"`
	Waiting      map[string]int `json:"waiting" doc:"jobs that wait, by class"`
	Running      int            `json:"running"`
	CopiedWallNS int64          `json:"copied_wall_ns,omitempty" doc:"of the hub's last copy; absent: none"`
	// Of a rig of a fleet.
	Hub         string `json:"hub,omitempty" doc:"address of the rig's hub"`
	Rig         string `json:"rig,omitempty" doc:"name of this rig in its fleet"`
	Connected   bool   `json:"connected"`
	Reason      string `json:"reason,omitempty" doc:"why it is not connected, gets no jobs or is not copied"`
	SinceWallNS int64  `json:"since_wall_ns" doc:"of the connection, or of its loss; 0: never"`
	Results     int    `json:"results" doc:"attempts that the hub has not acknowledged"`
}

// FleetRig is a rig as its hub knows it.
type FleetRig struct {
	Rig          string        `json:"rig" doc:"its name"`
	Key          string        `json:"key" doc:"public key to which the rig is bound"`
	Program      string        `json:"program" doc:"version"`
	State        string        `json:"state" doc:"ready, busy, draining, drained, away or suspended"`
	Reason       string        `json:"reason,omitempty" doc:"why it gets no jobs"`
	SeenWallNS   int64         `json:"seen_wall_ns" doc:"its last message, by the hub's clock; 0: never"`
	ClockNS      int64         `json:"clock_offset_ns" doc:"its clock minus the hub's"`
	JoinedWallNS int64         `json:"joined_wall_ns"`
	Address      string        `json:"address,omitempty" doc:"of its own page, where the rig tells it"`
	Devices      []FleetDevice `json:"devices"`
	Unreported   int           `json:"results" doc:"ended attempts that the hub has not stored yet"`
}

// FleetDevice is a device of a rig.
type FleetDevice struct {
	Device string            `json:"device"`
	State  string            `json:"state" doc:"as in device.list"`
	Reason string            `json:"reason,omitempty"`
	Job    string            `json:"job,omitempty" doc:"of the fleet, at work on it"`
	Labels map[string]string `json:"labels" doc:"facts and words by which jobs choose it"`
}

// FleetRigs is the result of fleet.rigs, by name.
type FleetRigs struct {
	Rigs []FleetRig `json:"rigs"`
}

// FleetInvite are the parameters of fleet.invite.
type FleetInvite struct {
	Rig string `json:"rig" limit:"1 to 32 letters, digits or -" doc:"name of the rig that may join"`
}

// FleetInvitation is the result of fleet.invite.
type FleetInvitation struct {
	Rig           string `json:"rig"`
	URL           string `json:"url" doc:"of the hub, with the secret behind #; valid once"`
	ExpiresWallNS int64  `json:"expires_wall_ns"`
}

// FleetDrain are the parameters of fleet.drain.
type FleetDrain struct {
	Rig    string `json:"rig"`
	Drain  bool   `json:"drain" doc:"begin no job there; false: go on"`
	Reason string `json:"reason,omitempty" limit:"300 bytes"`
}

// FleetRigName names a rig.
type FleetRigName struct {
	Rig string `json:"rig"`
}

// JobParams are those of job.start: a job for any fitting device of the fleet.
type JobParams struct {
	Job     string   `json:"job,omitempty" limit:"s- and 1 to 90 of a-z 0-9 -" doc:"own ID: repeated calls are one job"`
	Needs   []string `json:"needs,omitempty" limit:"16" doc:"labels, as model=pixel7 or os=linux,android; all must fit"`
	Replace bool     `json:"replace,omitempty" doc:"after a lost rig or a fault of the lab, another device may do it"`
	StartParams
}

// FleetJob is a job of the fleet.
type FleetJob struct {
	Job      string         `json:"job"`
	Owner    string         `json:"owner"`
	Class    string         `json:"class"`
	Test     string         `json:"test"`
	Label    string         `json:"label,omitempty"`
	Needs    []string       `json:"needs"`
	State    string         `json:"state" doc:"queued, assigned, running, ok, failed, cancelled or interrupted"`
	Reason   string         `json:"reason,omitempty" doc:"why it waits or has failed, as a sentence"`
	Position int            `json:"position" doc:"of its class and needs, from 1; 0 where it does not wait"`
	Attempts []FleetAttempt `json:"attempts"`
	Winner   int            `json:"winner" doc:"number of the attempt that counts; 0: none"`
	Verdict  string         `json:"verdict,omitempty" doc:"of its runs against the baseline"`

	QueuedWallNS int64 `json:"queued_wall_ns"`
	EndedWallNS  int64 `json:"ended_wall_ns" doc:"0: not yet"`
}

// FleetAttempt is one try of a job on one rig.
type FleetAttempt struct {
	Attempt       int      `json:"attempt" doc:"from 1"`
	Rig           string   `json:"rig"`
	Devices       []string `json:"devices"`
	State         string   `json:"state" doc:"assigned, running, ok, failed, interrupted, cancelled or lost"`
	Superseded    bool     `json:"superseded,omitempty" doc:"another attempt counts"`
	Fault         string   `json:"fault,omitempty" doc:"\"lab\" or \"product\", of a failed one"`
	Reason        string   `json:"reason,omitempty"`
	Progress      string   `json:"progress,omitempty"`
	Set           string   `json:"set,omitempty" doc:"address RIG/ID of its runs, once there are some"`
	StartedWallNS int64    `json:"started_wall_ns"`
	EndedWallNS   int64    `json:"ended_wall_ns"`
}

// FleetJobsParams are those of fleet.jobs.
type FleetJobsParams struct {
	State string `json:"state,omitempty" doc:"only jobs in this state; \"live\": those that have not ended"`
	Limit int    `json:"limit,omitempty" limit:"1 to 1000" doc:"200 if not given"`
}

// FleetJobs is the result of fleet.jobs: jobs that wait or run in order, then ended ones, latest
// first.
type FleetJobs struct {
	Jobs  []FleetJob `json:"jobs"`
	Total int        `json:"total"`
}
