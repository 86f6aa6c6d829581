package result

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/wording"
)

// Complete returns a profile as it is in results, with texts and without nil lists.
func (p *Profile) Complete(r *Results) *Profile {
	p = clone(p)
	p.fill(r)
	return p
}

// fill writes the texts.
func (p *Profile) fill(r *Results) {
	for i := range p.Traces {
		p.Traces[i].Text = p.Traces[i].words()
	}
	for i := range p.Functions {
		p.Functions[i].Text = p.Functions[i].label()
	}
	for i := range p.Threads {
		p.Threads[i].Text = p.Threads[i].label()
	}
	for i := range p.Late {
		l := &p.Late[i]
		for k := range l.Threads {
			l.Threads[k].fill(p, l.ToNS-l.FromNS)
		}
		l.Sentence = p.why(l, r) + r.requestText(l.Span())
		if len(l.Lost) > 0 && l.Sentence != "" {
			l.Sentence += " The trace is incomplete there: " + strings.Join(l.Lost, "; ") + "."
		}
	}
	for i := range p.Tests {
		p.Tests[i].Text = p.Tests[i].words(p)
	}
	p.TestText = p.tested()
	for i := range p.Events {
		p.Events[i].Text = p.Events[i].words(p)
	}
	for i := range p.Sockets {
		s := &p.Sockets[i]
		if s.Text == "" {
			s.Text = fmt.Sprintf("%s waited %s", s.Call, duration(s.EndNS-s.BeginNS))
		}
	}
	for i := range p.Claims {
		p.Claims[i].Text = p.Claims[i].words()
	}
	p.Sentence = p.summary()
}

func (c *ProfileClaims) words() string {
	if c.By == "" {
		return fmt.Sprintf("%s claims %s. No captured frame fits.", c.Trace, wording.Plural(c.Frames, "frame"))
	}
	return fmt.Sprintf("%s: %d of %s have a captured frame by %s, %s after the claimed present. "+
		"Jank without a visible effect: %d of %s. Late frames that the trace calls good: %d of %d.", c.Trace, c.Matched,
		wording.Plural(c.Frames, "claimed frame"), c.By, c.Delay.time(), c.Harmless, wording.Plural(c.Jank, "claim"),
		c.CalledGood, c.Late)
}

// duration returns a time in ns without bounds.
func duration(ns int64) string {
	s := exactly(ns)
	text, _ := s.texts(s.unit())
	return text
}

func exactly(ns int64) Span { return Span{float64(ns), float64(ns), float64(ns)} }

func (f *ProfileFunction) label() string {
	module := path.Base(f.Module)
	switch {
	case f.Language == "kernel":
		module = "kernel"
	case f.Module == "":
		module = ""
	}
	switch {
	case f.Name == "" && module == "":
		return "unknown code"
	case f.Name == "":
		return "unnamed code in " + module
	case f.File != "":
		return called(f.Name, place(f.File, f.Line, f.Column))
	}
	return called(f.Name, module)
}

// text returns the name for sentences, without numbers. A browser's own trace has names such as
// CrRendererMain for main threads.
func (t *ProfileThread) text() string {
	name := t.name()
	isMain := name == "main thread" || t.Process != 0 && t.ID == t.Process && strings.HasSuffix(name, "Main")
	if !isMain || t.ProcessName == "" {
		return name
	}
	return "the main thread of " + t.ProcessName
}

// name returns the name, and main thread for that of a process which has no name of its own.
func (t *ProfileThread) name() string {
	if t.Process != 0 && t.ID == t.Process && strings.HasPrefix(t.ProcessName, t.Name) {
		return "main thread"
	}
	return cmp.Or(t.Name, fmt.Sprintf("thread %d", t.ID))
}

func (t *ProfileThread) label() string {
	name := t.name()
	if t.Process == 0 {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, strings.TrimSpace(fmt.Sprint(t.ProcessName, " ", t.Process)))
}

func (t *ProfileTrace) words() string {
	text := capital(cmp.Or(t.Name, "trace")) + ": " + strings.TrimSpace(t.Engine+" "+t.Way)
	if t.Why != "" {
		text += " (" + t.Why + ")"
	}
	text += ", " + wording.Plural(t.Events, "event")
	if t.Lost > 0 {
		text += ", " + wording.Count(t.Lost) + " lost"
	}
	if t.ClockNS > 0 {
		text += ", times ±" + duration(t.ClockNS)
	}
	if t.Unnamed > 0 {
		text += fmt.Sprintf(". %s of the samples are in code without names", percent(t.Unnamed))
	}
	if t.Cut > 0 {
		text += fmt.Sprintf(". %s of the samples have no callers", percent(t.Cut))
	}
	return text + "."
}

// function returns the text of a function.
func (p *Profile) function(i int) string {
	if i < 0 || i >= len(p.Functions) {
		return "another function"
	}
	return p.Functions[i].label()
}

// thread returns the name of a thread, with its process if another one has the same name and ran
// too; empty: it is unknown.
func (p *Profile) thread(i int) string {
	if i < 0 || i >= len(p.Threads) {
		return ""
	}
	const idle = 20 // such as the thread of a browser's spare process
	text := p.Threads[i].text()
	for _, t := range p.Threads {
		if t.Process != p.Threads[i].Process && idle*t.RunningNS >= p.Threads[i].RunningNS && t.text() == text {
			return fmt.Sprint(text, " ", p.Threads[i].Process)
		}
	}
	return text
}

func (a *ProfileActive) fill(p *Profile, whole int64) {
	fillTree(a.Tree)
	for i := range a.Waits {
		a.Waits[i].Text = a.Waits[i].words(p)
	}
	a.Text = fmt.Sprintf("ran %s of %s", a.Running.rounded(), duration(whole))
	if a.unsure() {
		a.Text = fmt.Sprintf("was in calls for %s of %s", duration(int64(a.Running.Value)), duration(whole))
	}
	if a.Waiting.Value+a.Runnable.Value > 0 {
		a.Text += ", waited " + a.Waiting.rounded()
		if a.Runnable.Value > 0 {
			a.Text += ", was ready for " + a.Runnable.rounded()
		}
	}
}

// unsure reports that the times are those of calls, which may have waited.
func (a *ProfileActive) unsure() bool {
	return !a.Sampled && a.Running.Value > 0 && a.Running.Low == 0 && a.Waiting.Value == 0
}

func fillTree(all []ProfileNode) {
	for i := range all {
		n := &all[i]
		fillTree(n.Callers)
		n.Text = Span{float64(n.NS), float64(n.LowNS), float64(n.HighNS)}.time()
		if n.Samples > 0 {
			n.Text += ", " + wording.Plural(n.Samples, "sample")
		}
	}
}

// rounded returns a time in ns. An exact one has no bounds.
func (s Span) rounded() string {
	if s.Low == s.High {
		return duration(int64(s.Value))
	}
	return s.time()
}

func (w *ProfileWait) words(p *Profile) string {
	text := "waited " + duration(cmp.Or(w.NS, w.EndNS-w.BeginNS)) + w.place(p) // old results have no NS
	if w.Times > 1 {
		text += " (" + wording.Count(int64(w.Times)) + " waits)"
	}
	if by := p.thread(w.WokenBy); by != "" {
		text += "; woken by " + by
	}
	return text
}

// place names the functions that waited, such as " in futex, below WaitableEvent::Wait". Below a
// library's function is its caller in another module.
func (w *ProfileWait) place(p *Profile) (text string) {
	var in, below *ProfileFunction // a function of the program is below one of the kernel
	for _, i := range w.Functions {
		if i < 0 || i >= len(p.Functions) || p.Functions[i].Name == "" {
			if below != nil {
				break // this may be the caller
			}
			continue
		}
		switch f := &p.Functions[i]; {
		case in == nil:
			in = f
			text += " in " + f.Name
		case f.Language == "kernel":
		case below == nil:
			below = f
			text += ", below " + f.Name
		case f.Module != below.Module:
			return text + " and " + f.Name
		}
	}
	return text
}

// why states the activity before a late frame.
func (p *Profile) why(l *ProfileLate, r *Results) string {
	if l.Window < 0 || l.Window >= len(r.Windows) {
		return "" // it is not valid
	}
	text, usual := r.came(l.Span())
	if len(l.Threads) == 0 {
		return text + "The traces have no activity meanwhile."
	}
	a, stood, of := &l.Threads[0], float64(l.ToNS-l.FromNS), "it"
	if usual > 0 && stood > usual { // the text states the delay alone
		of = span(stood/1e6) + " before it"
	}
	work := worked(l.ownWork())
	if p.works(l) {
		return text + fmt.Sprintf("%s of %s on %s.", capital(work), of, p.thread(a.Thread)) + p.delays(l)
	}
	if work != "" {
		work = " " + capital(work) + " meanwhile."
	}
	if l.named() {
		ran := p.function(a.Function)
		if a.Function < len(p.Functions) && p.Functions[a.Function].Name == "" {
			ran = capital(ran)
		}
		if a.unsure() {
			took := duration(int64(a.FunctionNS.Value))
			text += fmt.Sprintf("%s took %s of %s on %s, with its waits.", ran, took, of, p.thread(a.Thread))
			return text + work
		}
		text += fmt.Sprintf("%s ran for %s of %s on %s.", ran, a.FunctionNS.rounded(), of, p.thread(a.Thread))
		return text + p.delays(l) + work
	}
	if a.Blocked && len(a.Waits) > 0 {
		meanwhile := "Meanwhile"
		if of != "it" {
			meanwhile = "In the " + of
		}
		return text + fmt.Sprintf("%s, %s %s.", meanwhile, p.thread(a.Thread), a.Waits[0].words(p)) + work
	}
	text += fmt.Sprintf("The busiest thread, %s, ran for %s of %s.", p.thread(a.Thread), a.Running.rounded(), of)
	requests := r.requestText(l.Span())
	if len(a.Waits) > 0 && !a.Blocked && 4*float64(a.Waits[0].NS) >= stood && requests == "" {
		text += " It " + a.Waits[0].words(p) + "."
	}
	return text + p.delays(l) + work
}

// ownWork returns the browser's own work of the first thread. Work of others may run beside it
// without harm.
func (l *ProfileLate) ownWork() (own []ProfileWork) {
	for _, w := range l.Work {
		if len(l.Threads) > 0 && w.Thread == l.Threads[0].Thread {
			own = append(own, w)
		}
	}
	return own
}

// worked lists work, such as "layout took 80 ms and painting 20 ms".
func worked(own []ProfileWork) string {
	var parts []string
	for i, w := range own {
		part := w.Kind + " " + duration(w.NS)
		if i == 0 {
			part = w.Kind + " took " + duration(w.NS)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " and ")
}

// works reports whether the browser's own work is the cause of a late frame: for a quarter of its
// time, and without a function that describes more. A category with scripts describes more.
func (p *Profile) works(l *ProfileLate) bool {
	own := l.ownWork()
	if len(own) == 0 || 4*own[0].NS < l.ToNS-l.FromNS {
		return false
	}
	if !l.named() || l.Threads[0].Function >= len(p.Functions) {
		return true
	}
	f := &p.Functions[l.Threads[0].Function]
	isWork := f.Language == "category" && f.Name != "EvaluateScript" && f.Name != "FunctionCall"
	return (f.Name == "" || isWork) && 2*float64(own[0].NS) >= l.Threads[0].FunctionNS.Value
}

// delays states why the first thread of a late frame did not run for longer. It adds the thread
// that waited for it.
func (p *Profile) delays(l *ProfileLate) (text string) {
	a := &l.Threads[0]
	if 4*a.Runnable.Value >= float64(l.ToNS-l.FromNS) {
		text = " It was ready for " + a.Runnable.rounded() + ", while others had the processors."
	}
	for i := range l.Threads {
		b := &l.Threads[i]
		switch {
		case !b.Blocked || len(b.Waits) == 0:
		case i == 0:
			text += " It " + b.Waits[0].words(p) + "."
		default:
			text += fmt.Sprintf(" %s %s.", capital(p.thread(b.Thread)), b.Waits[0].words(p))
		}
	}
	return text
}

// named reports whether a function ran for a quarter of the time before a frame.
func (l *ProfileLate) named() bool {
	return len(l.Threads) > 0 && l.Threads[0].Function >= 0 &&
		4*l.Threads[0].FunctionNS.Value >= float64(l.ToNS-l.FromNS)
}

// busy reports whether a thread ran for half of the time before a frame. This makes a long frame a
// late one.
func (l *ProfileLate) busy() bool {
	return len(l.Threads) > 0 && 2*l.Threads[0].Running.Value >= float64(l.ToNS-l.FromNS)
}

func (t *ProfileTest) words(p *Profile) string {
	late := Span{float64(t.LateNS), float64(t.LowNS), float64(t.HighNS)}
	return fmt.Sprintf("In %s %s took %s of %s, in others %s; p %s", wording.Plural(t.Frames, "late frame"),
		p.function(t.Function), late.time(), duration(t.FrameNS), duration(t.OtherNS), probability(t.P))
}

func probability(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("= %.3f", p)
}

// tested states the result of the tests.
func (p *Profile) tested() string {
	const few = 5
	named := 0
	for _, t := range p.Tests {
		if t.Named {
			named++
		}
	}
	late := wording.Plural(p.LateFrames, "late frame")
	switch {
	case len(p.Functions) == 0 && p.LateFrames+p.OtherFrames == 0: // it has events alone
		return ""
	case len(p.Tests) == 0 && p.LateFrames == 0 && len(p.Late) > 0:
		return "Functions are not compared: no frame lasted twice the median of its window."
	case len(p.Tests) == 0 && p.LateFrames == 0:
		return "No frame was late by the median of its window."
	case len(p.Tests) == 0 && p.LateFrames < few:
		return fmt.Sprintf("Inconclusive: %s, and a comparison needs %d.", late, few)
	case len(p.Tests) == 0:
		return fmt.Sprintf("Inconclusive: too few other frames, or no function ran in %s.", late)
	case named == 0:
		return fmt.Sprintf("No function took a larger share of %s than of %s.", late,
			wording.Plural(p.OtherFrames, "other frame"))
	}
	return fmt.Sprintf("%s took a larger share of %s than of %s.", capital(wording.Plural(named, "function")), late,
		wording.Plural(p.OtherFrames, "other frame"))
}

func (e *ProfileEvent) words(p *Profile) string {
	text := e.Name
	if e.DurationNS > 0 {
		text += " for " + duration(e.DurationNS)
	}
	if on := p.thread(e.Thread); on != "" {
		text += " on " + on
	}
	if e.Frame >= 0 {
		text += fmt.Sprintf(", before frame %d", e.Frame)
	}
	return text
}

// summary states the first finding.
func (p *Profile) summary() string {
	switch i := slices.IndexFunc(p.Tests, func(t ProfileTest) bool { return t.Named }); {
	case len(p.Traces) == 0:
		return "The run has no traces."
	case i >= 0:
		return p.Tests[i].words(p) + "."
	case len(p.Late) > 0 && p.Late[0].Sentence != "": // a page that waits for input is late without a cause
		i := max(0, slices.IndexFunc(p.Late, func(l ProfileLate) bool {
			return l.named() || p.works(&l) || l.busy() || len(l.Threads) > 0 && l.Threads[0].Blocked
		}))
		return p.Late[i].Sentence
	case len(p.Functions) > 0 && p.Functions[0].Calls > 0 && p.Functions[0].SelfNS > 0:
		return fmt.Sprintf("%s took longest: %s, with its waits.", p.Functions[0].label(),
			duration(p.Functions[0].SelfNS))
	case len(p.Functions) > 0 && p.Functions[0].SelfNS > 0 && !p.Functions[0].described() && len(p.Threads) > 0:
		i := slices.IndexFunc(p.Threads, func(t ProfileThread) bool {
			return !slices.ContainsFunc(p.Threads, func(o ProfileThread) bool { return o.RunningNS > t.RunningNS })
		})
		return fmt.Sprintf("The busiest thread, %s, ran for %s.", p.thread(i), duration(p.Threads[i].RunningNS))
	case len(p.Functions) > 0 && p.Functions[0].SelfNS > 0:
		return fmt.Sprintf("%s ran longest: %s.", p.Functions[0].label(), duration(p.Functions[0].SelfNS))
	case len(p.Events) > 0:
		longest := slices.MaxFunc(p.Events, func(a, b ProfileEvent) int {
			return cmp.Compare(a.DurationNS, b.DurationNS)
		})
		return "Longest event: " + longest.words(p) + "."
	}
	return "The traces have no functions."
}

// described reports whether a function has a name that describes its self time.
func (f *ProfileFunction) described() bool {
	return f.Name != "" && (f.Language != "kernel" || !EnablesInterrupts(f.Name))
}

// EnablesInterrupts reports whether a function of the kernel turns interrupts on. Without NMIs, a
// sample waits until then. So such a function gets the samples of others.
func EnablesInterrupts(name string) bool {
	return strings.Contains(name, "irq_enable") || strings.HasSuffix(name, "irqrestore") ||
		strings.HasSuffix(name, "unlock_irq")
}

// webAssembly is the module of functions of WebAssembly.
const webAssembly = "WebAssembly"

// causes returns the activity before late frames of a window, the worst first.
func (p *Profile) causes(window int) (all causes) {
	if p == nil {
		return nil
	}
	for i := range p.Late {
		l := &p.Late[i]
		if l.Window != window || len(l.Threads) == 0 {
			continue
		}
		a, lasted := &l.Threads[0], float64(l.ToNS)-float64(l.FromNS)
		text, name, label, took := "", "", "", 0.0
		switch {
		case p.works(l):
			longest := l.ownWork()[0]
			took = float64(longest.NS)
			text = longest.Kind + " took " + duration(longest.NS)
			name = longest.Kind + " " + duration(longest.NS)
		case l.named() && a.Function < len(p.Functions):
			text, _ = a.FunctionNS.texts(a.FunctionNS.unit())
			took = a.FunctionNS.Value
			f := &p.Functions[a.Function]
			if f.Name != "" {
				name = called(f.Name, "") + " " + text
			}
			if f.Module == webAssembly {
				label = f.label()
			}
			text = f.label() + " ran for " + text
		case a.Blocked && len(a.Waits) > 0:
			text = p.thread(a.Thread) + " waited for " + duration(a.Waits[0].NS)
			if place := a.Waits[0].place(p); place != "" {
				text = place[1:] + ", " + text
			}
		case l.busy():
			took = a.Running.Value
			text = p.thread(a.Thread) + " ran for " + duration(int64(took))
		default:
			continue
		}
		all = append(all, cause{frame: l.Frame, ms: lasted / 1e6, took: took / 1e6, text: text, from: l.FromNS,
			name: name, label: label, load: l.Load})
	}
	return all
}
