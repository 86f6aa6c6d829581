package api

// Series is one value of one test on one device with one product, in the order of builds.
type Series struct {
	ID       int64  `json:"series"`
	Schedule string `json:"schedule"`
	Test     string `json:"test"`
	Window   string `json:"window,omitempty"`
	Measure  string `json:"measure"`
	Value    string `json:"value"`
	Unit     string `json:"unit"`
	Better   string `json:"better" doc:"\"higher\", \"lower\", or empty where neither is"`
	Version  int    `json:"version" doc:"of the measure's definition"`
	Device   string `json:"device"`
	Network  string `json:"network,omitempty"`
	Product  string `json:"product" doc:"kind of browser, such as firefox"`
	Feed     string `json:"feed,omitempty" doc:"feed of its builds; empty: the installed browser"`
	Role     string `json:"role" doc:"\"subject\", \"rival\" or \"control\""`
	// Generation is larger than that of an older series.
	Generation int `json:"generation,omitempty" doc:"times that the control had moved before its first point"`
	// Threshold is that of the measure, or of the test.
	Threshold float64 `json:"threshold" doc:"smallest relevant difference, as a fraction"`
	Points    int     `json:"points"`
	FirstSeq  int64   `json:"first_seq" doc:"sequence number of the first point's build"`
	LastSeq   int64   `json:"last_seq"`
	Latest    string  `json:"latest" doc:"median of the last point with its unit, for people"`
	Change    string  `json:"change,omitempty" doc:"state of its newest change"`
}

// SeriesListParams are those of series.list. Empty fields do not restrict the list.
type SeriesListParams struct {
	Schedule string `json:"schedule,omitempty"`
	Test     string `json:"test,omitempty"`
	Measure  string `json:"measure,omitempty"`
	Value    string `json:"value,omitempty"`
	Device   string `json:"device,omitempty"`
	Role     string `json:"role,omitempty"`
	Limit    int    `json:"limit,omitempty" limit:"1 to 1000" doc:"200 if not given"`
}

// SeriesList is the result of series.list.
type SeriesList struct {
	Series []Series `json:"series"`
	Total  int      `json:"total"`
}

// SeriesParams are those of series.get.
type SeriesParams struct {
	Series  int64 `json:"series"`
	FromSeq int64 `json:"from_seq,omitempty" doc:"0: from the first"`
	ToSeq   int64 `json:"to_seq,omitempty" doc:"0: to the last"`
	Limit   int   `json:"limit,omitempty" limit:"1 to 2000" doc:"points or tiles; 500 if not given"`
}

// SeriesData is the result of series.get, in the order of builds. It has points, or tiles where
// there are more points than the limit.
type SeriesData struct {
	Series  Series        `json:"series"`
	Level   int           `json:"level" doc:"0: points; k: tiles of 4^k points"`
	Points  []SeriesPoint `json:"points"`
	Tiles   []SeriesTile  `json:"tiles"`
	Gaps    []SeriesGap   `json:"gaps" doc:"builds without a point, and the reason"`
	Changes []SeriesShift `json:"changes" doc:"in this range"`
	// With are the series of the same schedule, test, value and device.
	With []Series `json:"with" doc:"rivals and control that were measured beside it"`
	// Release is that of a subject whose schedule has a pattern of releases.
	Release *SeriesPoint `json:"release,omitempty" doc:"newest release before the last point, or the point after it"`
}

// SeriesPoint is the median of a build's runs.
type SeriesPoint struct {
	Seq      int64   `json:"seq" doc:"of the subject's build"`
	Build    string  `json:"build" doc:"its own build"`
	Revision string  `json:"revision,omitempty"`
	Set      string  `json:"set"`
	WallNS   int64   `json:"wall_ns"`
	Runs     int     `json:"runs"`
	Median   float64 `json:"median"`
	Low      float64 `json:"low" doc:"95 % interval of the median; of too few runs their range"`
	High     float64 `json:"high"`
	Text     string  `json:"text" doc:"the median with its unit, for people"`
	Interval bool    `json:"interval" doc:"low and high are an interval, not a range"`
}

// SeriesTile is the range of several points.
type SeriesTile struct {
	FirstSeq int64   `json:"first_seq"`
	LastSeq  int64   `json:"last_seq"`
	Points   int     `json:"points"`
	Min      float64 `json:"min"`
	Median   float64 `json:"median" doc:"of level 1; above, the median of the medians below, weighted"`
	Max      float64 `json:"max"`
}

// SeriesGap is a build without a point.
type SeriesGap struct {
	Seq    int64  `json:"seq"`
	Build  string `json:"build"`
	Reason string `json:"reason"`
}

// SeriesShift is a change of a series between two builds.
type SeriesShift struct {
	ID        int64   `json:"change"`
	Series    int64   `json:"series"`
	Kind      string  `json:"kind,omitempty" doc:"\"drift\": of many builds, by weekly comparisons; empty: a step"`
	FirstSeq  int64   `json:"first_seq" doc:"last build before the change"`
	LastSeq   int64   `json:"last_seq" doc:"first build after the change"`
	State     string  `json:"state" doc:"candidate, confirming, confirmed, refuted, undecided, lab or dismissed"`
	Reason    string  `json:"reason,omitempty" doc:"a sentence"`
	Shift     float64 `json:"shift" doc:"relative, or absolute where values may be 0"`
	Relative  bool    `json:"relative"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	P         float64 `json:"p" doc:"of the detector, or of the confirmation once it has ended"`
	Direction string  `json:"direction" doc:"\"worse\", \"better\" or \"changed\""`
	Set       string  `json:"set,omitempty" doc:"fresh runs that confirmed or refuted it"`
	FoundNS   int64   `json:"found_wall_ns"`
	Text      string  `json:"text" doc:"the change in one sentence, for people"`
	// Explaining is of a confirmed change that has no cause yet.
	Explaining bool   `json:"explaining,omitempty" doc:"runs with measuring code search its cause"`
	Cause      string `json:"cause,omitempty" doc:"a sentence: the function that changed, or why none is named"`
}

// PointRemove are the parameters of point.remove. It has a rig, or a set or run.
type PointRemove struct {
	Rig    string `json:"rig,omitempty" doc:"of the fleet: all of its points"`
	Set    string `json:"set,omitempty" doc:"ID of a set, or of one of its runs; in a fleet RIG/SET"`
	Reason string `json:"reason,omitempty" limit:"200 bytes"`
}

// PointRemoved is the result of point.remove.
type PointRemoved struct {
	Points int `json:"points" doc:"that were removed, or have fewer runs"`
}

// ChangeListParams are those of change.list.
type ChangeListParams struct {
	Series int64  `json:"series,omitempty"`
	State  string `json:"state,omitempty"`
	Limit  int    `json:"limit,omitempty" limit:"1 to 1000" doc:"200 if not given"`
}

// ChangeList is the result of change.list, newest first.
type ChangeList struct {
	Changes []SeriesShift `json:"changes"`
}

// ChangeID names a change.
type ChangeID struct {
	Change int64  `json:"change"`
	Reason string `json:"reason,omitempty" limit:"300 bytes"`
}

// Alert is confirmed changes with overlapping ranges of builds.
type Alert struct {
	ID       int64         `json:"alert"`
	Kind     string        `json:"kind,omitempty" doc:"that of its changes"`
	Schedule string        `json:"schedule"`
	Feed     string        `json:"feed"`
	FirstSeq int64         `json:"first_seq"`
	LastSeq  int64         `json:"last_seq"`
	Builds   []Build       `json:"builds" doc:"those in the range; at most 100"`
	State    string        `json:"state" doc:"\"open\", \"acknowledged\", \"fixed\" or \"wontfix\""`
	Owner    string        `json:"owner,omitempty"`
	Note     string        `json:"note,omitempty"`
	OpenedNS int64         `json:"opened_wall_ns"`
	Changes  []SeriesShift `json:"changes" doc:"the worst first"`
	Text     string        `json:"text" doc:"the alert in one sentence, for people"`
	Command  string        `json:"command" doc:"repeats the comparison"`
}

// AlertList is the result of alert.list, newest first.
type AlertList struct {
	Alerts []Alert `json:"alerts"`
	Budget Budget  `json:"budget"`
}

// Budget is the account of false alarms.
type Budget struct {
	FalseAlarms   float64 `json:"false_alarms" doc:"expected at most in a period"`
	PeriodNS      int64   `json:"period_ns"`
	Confirmations int     `json:"confirmations" doc:"allowed in a period"`
	Used          int     `json:"used" doc:"in the last period"`
	Alpha         float64 `json:"alpha" doc:"level of each confirmation"`
	Text          string  `json:"text" doc:"for people"`
}

// AlertListParams are those of alert.list.
type AlertListParams struct {
	State string `json:"state,omitempty"`
	Limit int    `json:"limit,omitempty" limit:"1 to 1000" doc:"200 if not given"`
}

// AlertParams are those of alert.set. Fields that are not given stay.
type AlertParams struct {
	Alert int64   `json:"alert"`
	State string  `json:"state,omitempty"`
	Owner *string `json:"owner,omitempty" limit:"128 bytes"`
	Note  *string `json:"note,omitempty" limit:"1000 bytes"`
}
