package api

// BisectParams are those of bisect.start.
type BisectParams struct {
	Feed    string `json:"feed"`
	Good    string `json:"good" doc:"build of the feed without the change"`
	Bad     string `json:"bad,omitempty" doc:"later build with the change; the newest if not given"`
	Test    string `json:"test"`
	Value   string `json:"value,omitempty" doc:"MEASURE.VALUE; the first one of the test's answer if not given"`
	Device  string `json:"device,omitempty" doc:"local if not given"`
	Browser string `json:"browser,omitempty" doc:"kind, such as firefox; that of the feed if not given"`
	Budget  int    `json:"budget,omitempty" limit:"24 to 100000" doc:"runs; 600 if not given"`

	MaxLost *float64 `json:"max_lost,omitempty" limit:"0 to 1" doc:"max share of lost frames of a run (default: 0.05)"`
}

// BisectID names a bisection.
type BisectID struct {
	Bisect string `json:"bisect"`
}

// Bisects is the result of bisect.list, newest first. It has no steps and no builds.
type Bisects struct {
	Bisects []Bisect `json:"bisects"`
}

// Bisect is a search for the build at which a value changed.
type Bisect struct {
	ID string `json:"bisect"`
	BisectParams
	State     string `json:"state" doc:"searching, cancelled, or the outcome as docs/bisect.md lists it"`
	Text      string `json:"text" doc:"state and result in one sentence, for people"`
	Reason    string `json:"reason,omitempty" doc:"what it does, or why it ended"`
	Owner     string `json:"owner"`
	Alert     int64  `json:"alert,omitempty" doc:"that started it"`
	StartedNS int64  `json:"started_wall_ns"`
	EndedNS   int64  `json:"ended_wall_ns" doc:"0: it goes on"`
	Job       string `json:"job,omitempty" doc:"its current job"`
	Runs      int    `json:"runs" doc:"whose results are read"`
	Left      int    `json:"left" doc:"builds that may be the first bad one"`

	Unit       string        `json:"unit,omitempty"`
	Relative   bool          `json:"relative" doc:"shifts are fractions; else they have the unit"`
	Shift      BisectShift   `json:"shift" doc:"of bad against good"`
	Detectable float64       `json:"detectable,omitempty" doc:"where not reproduced: smallest shift that would be"`
	Found      []BisectFound `json:"found" doc:"in the order of builds"`
	Steps      []BisectStep  `json:"steps,omitempty"`
	Builds     []BisectBuild `json:"builds,omitempty" doc:"that have runs, or a chance of at least 0.001; at most 1000"`
}

// BisectShift is a difference of two builds with its 95 % interval.
type BisectShift struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Text     string  `json:"text" doc:"for people"`
}

// BisectFound is a confirmed change.
type BisectFound struct {
	Good   string      `json:"good" doc:"last build before it that can run"`
	Bad    string      `json:"bad" doc:"first build with it that can run"`
	Builds []Build     `json:"builds" doc:"after good, up to bad: one, or more where builds cannot run; at most 100"`
	Shift  BisectShift `json:"shift"`
	Share  float64     `json:"share" doc:"of the whole shift"`
	P      float64     `json:"p"`
}

// BisectStep is a job of a bisection.
type BisectStep struct {
	Job    string   `json:"job"`
	Builds []string `json:"builds"`
	Blocks int      `json:"blocks"`
	Reason string   `json:"reason" doc:"a sentence"`
	Broken []string `json:"broken,omitempty" doc:"builds that cannot run"`
	Over   bool     `json:"over"`
}

// BisectBuild is the state of a build.
type BisectBuild struct {
	Seq    int64     `json:"seq"`
	Build  string    `json:"build"`
	Chance float64   `json:"chance" doc:"that it is the first bad one"`
	Values []float64 `json:"values,omitempty" doc:"of its runs, in their order; at most 200"`
	Broken bool      `json:"broken,omitempty" doc:"it cannot run"`
}
