package result

import "fmt"

// MaxSpan is the longest time in ns of a script, which a float64 holds exactly.
const MaxSpan = 1 << 53

// maxPosition limits lines and columns, as records do.
const maxPosition = 1 << 31

// script checks the claims of instrumented pages.
func (c *checker) script(s *Script, windows int) {
	for _, l := range []struct {
		name      string
		have, max int
	}{
		{"policies", len(s.Policies), 20}, {"plain", len(s.Plain), MaxPlain}, {"realms", len(s.Realms), MaxRealms},
		{"gaps", len(s.Gaps), MaxGaps}, {"functions", len(s.Functions), MaxFunctions}, {"tasks", len(s.Tasks),
			MaxTasks},
		{"errors", len(s.Errors), MaxErrors}, {"late", len(s.Late), MaxLate}, {"warnings", len(s.Warnings), MaxGaps},
		{"reports", len(s.Reports), maxReports},
	} {
		c.require(l.have <= l.max, "%d %s, at most %d", l.have, l.name, l.max)
	}
	if c.err != nil {
		return
	}
	for _, name := range s.Policies {
		c.name("policy", name)
	}
	c.in("programs", func() { c.programs(s.Programs) })
	for _, p := range s.Plain {
		c.text("url", p.URL, maxText)
		c.text("reason", p.Reason, maxText)
		c.counts("count of plain", int64(p.Count))
	}
	for i, r := range s.Realms {
		c.require(r.Kind == RealmWindow || r.Kind == RealmFrame || r.Kind == RealmWorker || r.Kind == RealmNode,
			"kind of realm %d is %.40q", i, r.Kind)
		c.text("url", r.URL, maxText)
	}
	c.counts("clock_ns, records, lost or left out", s.ClockNS, s.Records, s.Lost, s.TasksLeft, s.ErrorsLeft)
	for i, g := range s.Gaps {
		c.in(fmt.Sprintf("gaps[%d]", i), func() {
			c.ordered(g.FromNS, g.ToNS)
			c.counts("records", g.Records)
			c.name("cause", g.Cause)
			c.index("realm", g.Realm, -1, len(s.Realms))
		})
	}
	c.in("cost", func() { c.span("per_call_ns", s.Cost.PerCallNS); c.span("counted_ns", s.Cost.CountedNS) })
	for i := range s.Functions {
		c.in(fmt.Sprintf("functions[%d]", i), func() { c.function(&s.Functions[i]) })
	}
	for i, t := range s.Tasks {
		c.in(fmt.Sprintf("tasks[%d]", i), func() {
			c.ordered(t.BeginNS, t.EndNS)
			c.require(i == 0 || t.BeginNS >= s.Tasks[i-1].BeginNS, "it begins before the task before it")
			c.index("function", t.Function, -1, len(s.Functions))
			c.index("realm", t.Realm, 0, len(s.Realms))
			c.counts("calls", int64(t.Calls))
		})
	}
	for i := range s.Errors {
		c.in(fmt.Sprintf("errors[%d]", i), func() { c.scriptError(&s.Errors[i]) })
	}
	for i := range s.Late {
		c.in(fmt.Sprintf("late[%d]", i), func() { c.late(&s.Late[i], windows, len(s.Functions)) })
	}
	for i := range s.Reports {
		c.in(fmt.Sprintf("reports[%d]", i), func() { c.report(&s.Reports[i]) })
	}
	if s.Plan != nil {
		c.in("plan", func() { c.scriptPlan(s.Plan) })
	}
	c.texts("warnings", s.Warnings)
	c.link(s.Log, true)
}

func (c *checker) scriptPlan(p *ScriptPlan) {
	c.counts("a count", int64(p.Points), int64(p.Active), int64(p.Slow), int64(p.Loads), int64(p.Needed),
		int64(p.Dropped))
	c.require(p.Active <= p.Points && p.Slow <= p.Points, "%d active or %d slow of %d points", p.Active, p.Slow,
		p.Points)
	c.require(p.Probability >= 0 && p.Probability <= 1 && p.Share >= 0 && p.Share <= 1,
		"probability %g or share %g is not between 0 and 1", p.Probability, p.Share)
	c.text("adapt", p.Adapt, maxText)
	c.text("off", p.Off, maxText)
}

func (c *checker) programs(p ScriptPrograms) {
	c.counts("a figure", int64(p.Served), int64(p.Instrumented), p.Bytes, p.CoveredBytes, p.AddedBytes,
		int64(p.Functions), int64(p.CalledOfThem))
	c.require(p.Instrumented <= p.Served, "%d of %d are instrumented", p.Instrumented, p.Served)
	c.require(p.CoveredBytes <= p.Bytes, "%d of %d bytes are covered", p.CoveredBytes, p.Bytes)
	c.require(p.CalledOfThem <= p.Functions, "%d of %d functions were called", p.CalledOfThem, p.Functions)
}

func (c *checker) function(f *Function) {
	c.source(f.Name, f.URL, f.Line, f.Column)
	c.source("", f.Source, f.SourceLine, 0)
	c.counts("calls", f.Calls)
	for name, s := range map[string]Span{"self_ns": f.Self, "total_ns": f.Total, "min_ns": f.Min, "mean_ns": f.Mean,
		"max_ns": f.Max} {
		c.span(name, s)
	}
	c.require(len(f.Natives) <= MaxNatives, "%d natives, at most %d", len(f.Natives), MaxNatives)
	for _, n := range f.Natives[:min(len(f.Natives), MaxNatives)] {
		c.native(n)
	}
}

func (c *checker) native(n NativeCall) {
	c.source(n.Name, "", n.Line, n.Column)
	c.span("self_ns of a native", n.Self)
}

func (c *checker) report(r *PolicyReport) {
	c.name("policy", r.Policy)
	c.text("sentence", r.Sentence, maxText)
	c.counts("points, active or rows left out", int64(r.Points), int64(r.Active), int64(r.Left))
	c.require(r.Active <= r.Points, "%d of %d points are active", r.Active, r.Points)
	c.require(len(r.Columns) <= maxColumns && len(r.Rows) <= MaxPolicyRows, "%d columns and %d rows", len(r.Columns),
		len(r.Rows))
	for _, column := range r.Columns {
		c.text("column", column.Name, maxText)
		c.text("unit", column.Unit, maxText)
	}
	for _, row := range r.Rows {
		c.source(row.Name, row.URL, row.Line, row.Column)
		c.text("text", row.Text, maxText)
		c.require(row.Verdict == "" || row.Verdict == "pass" || row.Verdict == "fail" || row.Verdict == "more",
			"verdict is %.40q", row.Verdict)
		c.require(len(row.Values) == len(r.Columns), "a row has %d values of %d", len(row.Values), len(r.Columns))
	}
}

func (c *checker) source(name, url string, line, column int) {
	c.text("name", name, maxText)
	c.text("url", url, maxText)
	c.require(min(line, column) >= 0 && max(line, column) <= maxPosition, "line %d, column %d", line, column)
}

func (c *checker) scriptError(e *ScriptError) {
	c.require(e.Kind == ErrorThrown || e.Kind == errorRejection || e.Kind == errorCaught || e.Kind == ErrorResource,
		"kind is %.40q", e.Kind)
	c.source(e.Message, e.URL, e.Line, e.Column)
	c.source("", e.Source, e.SourceLine, 0)
	c.ordered(e.AtNS, e.AtNS)
	c.counts("count", int64(e.Count))
	c.frame(e.Frame, true)
	c.require(len(e.Stack) <= MaxStack, "a stack of %d places, at most %d", len(e.Stack), MaxStack)
	for _, p := range e.Stack[:min(len(e.Stack), MaxStack)] {
		c.source(p.Function, p.URL, p.Line, p.Column)
		c.source("", p.Source, p.SourceLine, 0)
	}
}

func (c *checker) late(l *LateFrame, windows, functions int) {
	c.index("window", l.Window, 0, windows)
	c.frame(l.Frame, false)
	c.ordered(l.FromNS, l.ToNS)
	c.require(len(l.Functions) <= functions, "%d functions of %d ran meanwhile", len(l.Functions), functions)
	if c.err != nil {
		return
	}
	for _, f := range l.Functions {
		c.index("function", f.Function, 0, functions)
		c.span("self_ns", f.Self)
	}
	if l.Native != nil {
		c.native(*l.Native)
	}
	c.span("unexplained_ns", l.UnexplainedNS)
}

// span requires finite bounds on either side of a value that is not negative.
func (c *checker) span(name string, s Span) {
	ok := s.Low >= 0 && s.Low <= s.Value && s.Value <= s.High && s.High <= MaxSpan // false for NaN
	c.require(ok, "%s: %g is not between %g and %g, or they are out of range", name, s.Value, s.Low, s.High)
}

// ordered requires two times of which the second is not earlier.
func (c *checker) ordered(from, to int64) {
	const limit = 1 << 62 // so that differences do not overflow
	c.require(from >= -limit && from <= to && to <= limit, "it lasts from %d to %d ns", from, to)
}

// index requires an index of a list of n, or one from least on.
func (c *checker) index(what string, i, least, n int) {
	c.require(i >= least && i < n, "%s is %d, and there are %d", what, i, n)
}

func (c *checker) counts(what string, all ...int64) {
	for _, n := range all {
		c.require(n >= 0, "%s: %d", what, n)
	}
}
