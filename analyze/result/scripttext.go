package result

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/wording"
)

// Complete returns scripts without a recording as they are written: with texts, and without nil
// lists.
func (s *Script) Complete() *Script {
	s = clone(s)
	s.fill(&Results{})
	return s
}

// fill writes the texts.
func (s *Script) fill(r *Results) {
	for i := range s.Functions {
		s.Functions[i].describe()
	}
	for i := range s.Errors {
		e := &s.Errors[i]
		e.Place = inSource(e.Source, e.SourceLine, place(e.URL, e.Line, e.Column))
		for k := range e.Stack {
			e.Stack[k].describe()
		}
	}
	for i := range s.Late {
		l := &s.Late[i]
		if l.Native != nil && len(l.Functions) > 0 && l.Functions[0].Function < len(s.Functions) {
			l.Native.describe(s.Functions[max(0, l.Functions[0].Function)].URL)
		}
		l.Sentence = s.why(l, r) + r.requestText(l.span())
		for k := range l.Callers {
			l.Callers[k].describe()
		}
		if l.Sentence != "" && l.Brief != nil {
			l.Brief.Most.describe()
			l.Sentence += " " + l.Brief.words()
		}
	}
	for i := range s.Reports {
		s.Reports[i].Fill()
	}
	for i := range s.Requests {
		s.Requests[i].describe()
	}
	s.Programs.Text, s.LostText = s.coverage(), s.lost()
	if s.Plan != nil {
		s.Plan.Text = s.Plan.words()
	}
	switch {
	case s.Cost.PerCallNS.High > 0:
		s.Cost.Text = s.Cost.words()
		if s.Brief != nil {
			s.Brief.Most.describe()
			s.Cost.Text += " " + s.Brief.words() + " Their time counts for their callers."
		}
	case slices.Contains(s.Policies, "calls"):
		s.Cost.Text = "The cost of the instrumentation is unknown."
	default:
		s.Cost.Text = "Only the policy calls measures its cost."
	}
	s.Sentence = s.summary()
}

// words states what the plan measured and what it will.
func (p *ScriptPlan) words() string {
	if p.Off != "" {
		return "Later runs are without policies that harm the page: " + p.Off + "."
	}
	if p.Plain {
		return "The scripts of this run stayed plain, for comparison with the other runs."
	}
	said := []string{fmt.Sprintf("Calls of %s of %s functions were measured. The time of others is in their callers.",
		wording.Count(p.Active), wording.Count(p.Points))}
	if p.Adapt != "" {
		state := "The selection is not stable after"
		if p.Stable {
			state = "The selection is stable after"
		}
		said = append(said, fmt.Sprintf("Slow functions, above 5 ms: %d. %s %s.", p.Slow, state, loads(p.Loads)))
	}
	if p.Probability > 0 && p.Probability < 1 {
		text := fmt.Sprintf("The loads so far have tested %s of the functions.", percent(p.Share))
		if p.Needed > 0 {
			text += fmt.Sprintf(" 95 %% need %s.", loads(p.Needed))
		}
		said = append(said, text)
	}
	if p.Dropped > 0 {
		said = append(said, fmt.Sprintf("Functions of changed programs that were dropped: %d.", p.Dropped))
	}
	return strings.Join(said, " ")
}

func loads(n int) string {
	if n == 1 {
		return "1 load"
	}
	return wording.Count(n) + " loads"
}

func percent(share float64) string { return wording.Number(math.Floor(1000*share)/10) + " %" }

func (c *ScriptCost) words() string {
	return fmt.Sprintf("The instrumentation cost %s per call, calibrated in the page, and %s of the recording.",
		c.PerCallNS.in("ns"), c.CountedNS.time())
}

func (r PolicyRow) failed() bool { return r.Verdict == "fail" }

// Fill makes the lists of a report, and writes its texts.
func (p *PolicyReport) Fill() {
	*p = *clone(p)
	for i := range p.Rows {
		row := &p.Rows[i]
		row.Place, row.Texts = place(row.URL, row.Line, row.Column), []string{}
		for k, x := range row.Values {
			digits := 0
			if k < len(p.Columns) && p.Columns[k].Unit != "" && math.Abs(x) < 100 && x != math.Trunc(x) {
				digits = 2
			}
			text := decimal(x, digits)
			if k < len(p.Columns) && p.Columns[k].Unit != "" {
				text += " " + p.Columns[k].Unit
			}
			row.Texts = append(row.Texts, text)
		}
	}
}

func (f *Function) describe() {
	f.Place = inSource(f.Source, f.SourceLine, place(f.URL, f.Line, f.Column))
	f.SelfText, f.SelfBounds = f.Self.texts(f.Self.unit())
	f.TotalText, _ = f.Total.texts(f.Total.unit())
	f.MeanText, _ = f.Mean.texts(f.Mean.unit())
	f.MaxText, _ = f.Max.texts(f.Max.unit())
	for i := range f.Natives {
		f.Natives[i].describe(f.URL)
	}
}

func (n *NativeCall) describe(url string) {
	text, _ := n.Self.texts(n.Self.unit())
	n.Text = text + " in " + called(n.Name, place(url, n.Line, n.Column))
}

// label names a function with its place.
func (p *Place) describe() {
	p.Text = called(p.Function, inSource(p.Source, p.SourceLine, place(p.URL, p.Line, p.Column)))
}

func (b *BriefCalls) words() string {
	return fmt.Sprintf("Too brief to record: %s, most of %s.", wording.Plural(b.Calls, "call"), b.Most.Text)
}

func (f *Function) label() string { return called(f.Name, f.Place) }

// InSource returns the name and the place in the source, which other builds of a program have, too.
// Without a source the place is that in the program.
func (f *Function) InSource() string {
	return inSourceOf(f.Name, f.Source, f.SourceLine, place(f.URL, f.Line, f.Column))
}

func inSourceOf(name, source string, line int, place string) string {
	if source != "" {
		place = fmt.Sprintf("%s:%d", source, line)
	}
	return called(name, place)
}

func called(name, place string) string {
	if name == "" || name == "(anonymous)" {
		name = "anonymous function"
	}
	if place == "" {
		return name
	}
	return name + " (" + place + ")"
}

// inSource returns a place in a source before the one in the program.
func inSource(source string, line int, place string) string {
	if source == "" {
		return place
	}
	return fmt.Sprintf("%s:%d, %s", source, line, place)
}

// place returns the last part of an address with the line. Files of few long lines get the column.
func place(url string, line, column int) string {
	url, _, _ = strings.Cut(url, "?")
	name := url
	if _, after, ok := strings.Cut(url, "://"); ok {
		if name = path.Base(after); strings.HasSuffix(after, "/") {
			name += "/"
		}
	}
	const long = 200 // columns
	switch {
	case name == "" || line == 0:
		return name
	case column > long:
		return fmt.Sprintf("%s:%d:%d", name, line, column)
	}
	return fmt.Sprintf("%s:%d", name, line)
}

// unit returns the unit in which people read a time in ns.
func (s Span) unit() string {
	if s.Value >= 1e9 {
		return "s"
	}
	return "ms"
}

// time returns a time in ns with its bounds, such as "112 (111–113) ms".
func (s Span) time() string { return s.in(s.unit()) }

func (s Span) in(unit string) string {
	text, bounds := s.texts(unit)
	if bounds == "" {
		return text
	}
	number, _, _ := strings.Cut(text, " ")
	return fmt.Sprintf("%s (%s) %s", number, bounds, unit)
}

// texts returns a time in ns with its unit, and its bounds without one. These are rounded outwards,
// and empty if they equal the value.
func (s Span) texts(unit string) (text, bounds string) {
	scale := map[string]float64{"s": 1e9, "ms": 1e6, "ns": 1}[unit]
	digits := 0
	for limit := 10.0; unit == "ms" && digits < 3 && s.Value > 0 && s.Value/scale < limit; limit /= 10 {
		digits++
	}
	if unit == "s" {
		digits = 2
	}
	step := math.Pow(10, float64(digits))
	write := func(x float64) string { return decimal(x/step, digits) }
	const near = 1e-6 // of a step, for bounds that are exact
	value := write(math.Round(s.Value / scale * step))
	low, high := write(math.Floor(s.Low/scale*step+near)), write(math.Ceil(s.High/scale*step-near))
	if low != value || high != value {
		bounds = low + "–" + high
	}
	return value + " " + unit, bounds
}

// decimal groups the digits before the point by threes.
func decimal(x float64, digits int) string {
	if math.IsNaN(x) || math.Abs(x) > MaxSpan {
		return "?" // it is not valid
	}
	whole, rest, point := strings.Cut(strconv.FormatFloat(x, 'f', digits, 64), ".")
	n, _ := strconv.ParseInt(whole, 10, 64) // digits only
	if whole = wording.Count(n); point {
		return whole + "." + rest
	}
	return whole
}

func (s *Script) coverage() string {
	p := s.Programs
	text := "No program was served."
	switch left := p.Served - p.Instrumented; {
	case left == 1 && p.Served == 1:
		text = "The only program is not instrumented" + s.reasons()
	case left > 0:
		text = fmt.Sprintf("%s of %s %s not instrumented%s", wording.Count(left), wording.Plural(p.Served, "program"),
			map[bool]string{true: "is", false: "are"}[left == 1], s.reasons())
	case p.Served > 0:
		text = wording.Plural(p.Served, "program") + ", all instrumented."
	}
	if p.Functions == 0 {
		return text
	}
	return text + fmt.Sprintf(" %s of %s ran.", wording.Count(p.CalledOfThem), wording.Plural(p.Functions, "function"))
}

// reasons returns why programs are not instrumented, the most frequent first.
func (s *Script) reasons() string {
	count := map[string]int{}
	for _, p := range s.Plain {
		count[p.Reason] += p.Count
	}
	reasons := sortedKeys(count)
	slices.SortStableFunc(reasons, func(a, b string) int { return count[b] - count[a] })
	if len(reasons) == 0 {
		return "."
	}
	for i, r := range reasons {
		if len(reasons) > 1 {
			reasons[i] = fmt.Sprintf("%s (%s)", r, wording.Count(count[r]))
		}
	}
	return ": " + wording.Few(reasons) + "."
}

func (s *Script) lost() string {
	if s.Lost == 0 && len(s.Gaps) == 0 {
		return ""
	}
	var causes []string
	for _, g := range s.Gaps {
		if !slices.Contains(causes, g.Cause) {
			causes = append(causes, g.Cause)
		}
	}
	text := wording.Plural(s.Lost, "record") + " of scripts " + map[bool]string{true: "is", false: "are"}[s.Lost == 1] +
		" lost"
	if len(causes) > 0 {
		text += " in " + wording.Plural(len(s.Gaps), "gap") + ": " + wording.Few(causes)
	}
	return text + ". Calls may be missing."
}

func (s *Script) summary() string {
	var parts []string
	loads := 0
	for i := range s.Late {
		if s.Late[i].Load {
			loads++
		}
	}
	if n := len(s.Late) - loads; n > 0 {
		parts = append(parts, wording.Plural(n, "late frame"))
	}
	if n := int64(len(s.Errors)) + s.ErrorsLeft; n > 0 {
		parts = append(parts, wording.Plural(n, "error"))
	}
	if len(s.Functions) > 0 && s.Functions[0].Calls > 0 {
		f := &s.Functions[0]
		parts = append(parts, fmt.Sprintf("%s ran longest: %s", f.label(), f.Self.time()))
	}
	for i := range s.Reports {
		if p := &s.Reports[i]; len(parts) == 0 && len(p.Rows) > 0 || slices.ContainsFunc(p.Rows, PolicyRow.failed) {
			parts = append(parts, strings.TrimSuffix(p.Sentence, "."))
		}
	}
	switch {
	case len(parts) > 0:
	case len(s.Reports) > 0:
		return s.Reports[0].Sentence
	default:
		return "No instrumented function was called."
	}
	return strings.Join(parts, "; ") + "."
}

// why states in words why a frame came late.
func (s *Script) why(l *LateFrame, r *Results) string {
	if l.Window < 0 || l.Window >= len(r.Windows) {
		return "" // it is not valid
	}
	stood := float64(l.ToNS) - float64(l.FromNS)
	text, usual := r.came(l.span())
	ran := s.ran(l, stood)
	lost := slices.ContainsFunc(s.Gaps, func(g Gap) bool { return g.FromNS < l.ToNS && g.ToNS > l.FromNS })
	switch rest := l.UnexplainedNS; {
	case lost && ran == "":
		return text + "Records of its scripts are lost."
	case ran == "":
		return text + "No instrumented script ran meanwhile."
	case lost:
		return text + capitalAnonymous(ran) + " meanwhile. Other records of that time are lost."
	case rest.Value > 0.9*stood:
		return text + "No instrumented script ran for " + rest.time() + " meanwhile."
	case rest.Value > usual && rest.Value > stood/4:
		return text + capitalAnonymous(ran) + " meanwhile. No instrumented script ran for " + rest.time() + "."
	}
	return text + capitalAnonymous(ran) + " meanwhile."
}

// came states how late a frame came, and returns the usual time before one in ns.
func (r *Results) came(l FrameSpan) (text string, usual float64) {
	w := &r.Windows[l.Window]
	zero, usual := w.StartNS, float64(r.Recording.PeriodNS)
	if w.T0 != nil {
		zero = w.T0.AtNS
	}
	pauses := w.pauses()
	if len(pauses) > 0 {
		usual = 1e6 * pauses[len(pauses)/2].ms
	}
	stood := float64(l.ToNS) - float64(l.FromNS)
	text = fmt.Sprintf("The frame at %s came ", seconds(l.ToNS-zero, 2))
	switch late := stood - usual; {
	case l.Load:
		usual = 0
		text = fmt.Sprintf("The first change came after %s. ", span(stood/1e6))
	case l.Response:
		usual = 0
		text = fmt.Sprintf("The answer at %s came after %s. ", seconds(l.ToNS-zero, 2), span(stood/1e6))
	case len(pauses) == 0:
		usual = 0
		text += span(stood/1e6) + " after the one before it. "
	case late > 0:
		text += span(late/1e6) + " late. "
	default:
		text += "after " + span(stood/1e6) + ". "
	}
	if n := w.lostWithin(l.FromNS, l.ToNS); n > 0 { // one of them may have been the frame
		text += "The recording lost " + wording.Plural(n, "frame") + " meanwhile, so it may have come earlier. "
	}
	return text, usual
}

// lostWithin returns how many frames of the recording are lost after one time, up to another.
func (w *Window) lostWithin(from, to int64) (n uint64) {
	for _, loss := range w.Times.Lost {
		if i := loss.Before - w.Times.First; i >= 0 && i < len(w.Times.Time) {
			if at := w.StartNS + w.Times.Time[i]; at > from && at <= to {
				n += loss.Frames
			}
		}
	}
	return n
}

// ran lists the functions that ran longest within a late frame.
func (s *Script) ran(l *LateFrame, stood float64) string {
	const most = 3
	var names []string
	for i, f := range l.Functions {
		if f.Function < 0 || f.Function >= len(s.Functions) || len(names) == most || i > 0 && f.Self.Value < stood/20 {
			break
		}
		ran := " "
		if i == 0 {
			ran = " ran "
		}
		text := s.Functions[f.Function].label() + ran + "for " + f.Self.time()
		if i == 0 && len(l.Callers) > 0 {
			c, how := &l.Callers[0], ", called by "
			if l.Within {
				how = ", within "
			}
			text += how + inSourceOf(c.Function, c.Source, c.SourceLine, place(c.URL, c.Line, c.Column))
		}
		if i == 0 && l.Native != nil {
			text += ", of it " + l.Native.Text
		}
		names = append(names, text)
	}
	return strings.Join(names, "; ") // a comma would list them as callers
}

// capitalAnonymous keeps the case of names.
func capitalAnonymous(s string) string {
	if strings.HasPrefix(s, "anonymous function") {
		return "An " + s
	}
	return s
}

// cause is the function or the request that took most of the time before a late frame.
type cause struct {
	frame int
	ms    float64 // before the frame: of a pause, of an answer, or of a first change
	took  float64 // ms of it; 0: it is a wait
	text  string
	from  int64  // when the frame before it was shown, or the input happened
	name  string // of the function, with its time; empty: it has none
	label string // of a script's function, or of one of WebAssembly; empty: of others
	load  bool   // the frame is the first change of a load
}

type causes []cause

// Mark is a short text for a frame.
type Mark struct {
	Frame, Until int    // the first frame, and the one after the last
	Label        string // such as "findPaths 333 ms"
}

// LateMarks returns the functions that ran before a window's late frames, for the frames that were
// shown meanwhile.
func (r *Results) LateMarks(window int) (marks []Mark) {
	w := &r.Windows[window]
	for _, c := range r.causes(window) {
		i := sort.Search(len(w.Times.Time), func(i int) bool { return w.StartNS+w.Times.Time[i] > c.from })
		if c.name != "" && i > 0 {
			marks = append(marks, Mark{w.Times.First + i - 1, c.frame, c.name})
		}
	}
	return marks
}

// causes returns those of the scripts, and those of the profile for frames without them. A function
// of WebAssembly has its time within a script's function, so it is named for most of that. Requests
// replace causes that took less than half of the time. The longest pause comes first.
func (r *Results) causes(window int) causes {
	all := r.Script.causes(window)
	scripts := len(all)
	for _, c := range r.Profile.causes(window) {
		same := func(o cause) bool { return o.frame == c.frame && o.from == c.from }
		if i := slices.IndexFunc(all[:scripts], same); i < 0 {
			all = append(all, c)
		} else if c.label != "" && 4*c.took >= 3*all[i].took && c.took <= 1.1*all[i].took {
			_, took, _ := strings.Cut(c.text, c.label)
			all[i].text, all[i].name = c.label+", within "+all[i].label+","+took, c.name
		}
	}
	for _, c := range r.requestCauses(window) {
		same := func(o cause) bool { return o.frame == c.frame && o.from == c.from }
		if i := slices.IndexFunc(all, same); i < 0 {
			all = append(all, c)
		} else if 2*all[i].took < c.ms {
			if 4*all[i].took >= c.ms {
				c.text += ", and " + all[i].text
			}
			all[i] = c
		}
	}
	slices.SortStableFunc(all, func(a, b cause) int { return cmp.Compare(b.ms, a.ms) })
	return all
}

// of returns the cause of a late frame behind a colon, or "". A pause and an answer may end with
// one frame. The cause is that of the longest which is not longer than the given time.
func (all causes) of(frame int, ms float64) string {
	const near = 0.001 // for rounding
	for _, c := range all {
		if c.frame == frame && c.ms <= ms+near {
			return ": " + c.text + " of it"
		}
	}
	return ""
}

// moments returns the worst late frames.
func (all causes) moments() (moments []Moment) {
	for i, c := range all {
		if len(moments) == 2 {
			break
		}
		if slices.ContainsFunc(all[:i], func(o cause) bool { return o.frame == c.frame }) {
			continue
		}
		what := "a late frame: "
		if c.load {
			what = ""
		}
		moments = append(moments, Moment{Frame: c.frame, What: what + c.text + " before it"})
	}
	return moments
}

// causes returns the causes of a window's late frames, the worst first.
func (s *Script) causes(window int) (all causes) {
	if s == nil {
		return nil
	}
	for i := range s.Late {
		l := &s.Late[i]
		if l.Window != window || len(l.Functions) == 0 {
			continue
		}
		f, lasted := l.Functions[0], float64(l.ToNS)-float64(l.FromNS)
		if f.Function < 0 || f.Function >= len(s.Functions) || f.Self.Value < lasted/4 {
			continue
		}
		text, _ := f.Self.texts(f.Self.unit())
		label := s.Functions[f.Function].label()
		all = append(all, cause{frame: l.Frame, ms: lasted / 1e6, took: f.Self.Value / 1e6, from: l.FromNS,
			label: label, load: l.Load, text: label + " ran for " + text,
			name: called(s.Functions[f.Function].Name, "") + " " + text})
	}
	return all
}
