package report

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze"
)

// content is what the page's template shows: texts and links, all made here.
type content struct {
	Policy string
	Style  template.CSS
	Script template.JS
	Data   template.JS

	Title       string
	About       []string // when and where, in a line below the title
	Quality     qualityView
	Windows     []windowView
	Overview    overview // of several windows
	Film        bool
	FilmProblem string // why there is no video
	Environment []fact
	Settings    []fact
	Files       []link
	Pictures    []pictureView
	Notes       []string
	Schema      string

	film *film
}

// fact is a name and what is known of it.
type fact struct{ Name, Text string }

// link is a file. Its address is trusted: it is made of a checked name, or is the file's content.
type link struct {
	Name, Text string
	Address    template.URL
}

type qualityView struct {
	resultView
	Good    bool   // nothing is missing and nothing is to be known
	Verdict string // a sentence
	Facts   []fact // of the recording
}

// overview is a table of what stands for each measure in each window.
type overview struct {
	Columns []overviewColumn
	Rows    []overviewRow
}

// overviewColumn is one value of a measure: what stands for it in one window may be another than in the next.
type overviewColumn struct{ Measure, Name string }

type overviewRow struct {
	ID, Title, Frames string
	Cells             []valueView // one for each column; empty where the window has none
}

func newOverview(windows []windowView) (o overview) {
	for _, w := range windows {
		for _, tile := range w.Tiles {
			if c := columnOf(tile); !slices.Contains(o.Columns, c) {
				o.Columns = append(o.Columns, c)
			}
		}
	}
	// Those of one measure stand side by side.
	order := map[string]int{}
	for _, c := range o.Columns {
		if _, ok := order[c.Measure]; !ok {
			order[c.Measure] = len(order)
		}
	}
	slices.SortStableFunc(o.Columns, func(a, b overviewColumn) int { return order[a.Measure] - order[b.Measure] })
	for _, w := range windows {
		row := overviewRow{ID: w.ID, Title: w.Title, Frames: w.About[0], Cells: make([]valueView, len(o.Columns))}
		for _, tile := range w.Tiles {
			row.Cells[slices.Index(o.Columns, columnOf(tile))] = tile
		}
		o.Rows = append(o.Rows, row)
	}
	return o
}

// columnOf names the value after its measure alone, if it is called like it.
func columnOf(v valueView) overviewColumn {
	if v.Name == v.Measure {
		return overviewColumn{Measure: v.Measure}
	}
	return overviewColumn{v.Measure, v.Name}
}

type windowView struct {
	Index    int
	ID       string
	Title    string
	About    []string      // the frames first
	Tiles    []valueView   // one value of each measure
	Strips   []pictureView // filmstrips
	Results  []resultView
	Refused  []resultView // those that say nothing but why
	Claims   []fact       // on nothing that was measured
	Checks   []checkView
	Pictures []pictureView
	Warnings sentences
	HasTimes bool
}

// checkView is a number that was measured beside what was drawn.
type checkView struct {
	What, Claimed, Note string
	Measured, Drawn     spanView
	Agrees              bool
	Frames              []frameLink
}

type spanView struct{ Text, Bounds string }

const mostDiffering = 12 // frames that are linked where measured and drawn differ

func newCheck(k *Check) checkView {
	v := checkView{What: titled(k.What), Measured: newSpan(k.Measured, k.Unit), Drawn: newSpan(k.Drawn, k.Unit), Note: k.Note, Agrees: k.Agrees}
	if k.Claimed != nil {
		v.Claimed = number(*k.Claimed, analyze.Value{Unit: k.Unit}) + unitText(k.Unit)
	}
	for _, n := range k.Frames[:min(len(k.Frames), mostDiffering)] {
		v.Frames = append(v.Frames, frameLink{n, count(n)})
	}
	return v
}

type resultView struct {
	Measure  string
	Title    string
	State    string
	Refusal  string
	Charts   []chartView
	Values   []valueView
	HasClaim bool
	Evidence []evidenceView
	More     []frameLink // evidence that is only linked
	Unlisted int         // evidence that is not even that
	Pictures []pictureView
	Graphs   []link // drawn ones, as files
	Warnings sentences
}

// chartView is where the program draws a graph.
type chartView struct {
	Index  int // among the window's
	Title  string
	Series []string
}

type valueView struct {
	Measure  string
	Group    string // what the name begins with
	Begins   bool   // the group, which the value before is not in
	Name     string
	Text     string // with its unit
	Number   string // without, and short
	Unit     string
	Full     string // with all digits
	Bounds   string
	State    string
	Claim    string
	Note     string
	Frames   []frameLink
	More     []frameLink
	Unlisted int
	All      frameLink // where it is about all frames
}

// frameLink is a click that seeks.
type frameLink struct {
	Frame int
	Text  string
}

type evidenceView struct {
	Frame  frameLink
	Told   []fact // kind and sentence
	Untold int
	Image  template.URL
}

type pictureView struct {
	Kind  string
	Text  string
	Name  string
	Image template.URL
	Data  link
	Frame *frameLink
}

// sentences are shown up to some, and the others on demand.
type sentences struct{ First, Rest []string }

const (
	mostSentences = 6
	mostFrames    = 4    // linked beside a value
	mostLinked    = 400  // on demand
	mostEvidence  = 24   // shown as cards
	mostTold      = 6    // sentences on a card
	mostTiles     = 6    // of a window
	mostText      = 2000 // sentences in all of a list
)

func newSentences(all []string) sentences {
	all = slices.Clone(all[:min(len(all), mostText)])
	for i := range all {
		all[i] = titled(all[i])
	}
	n := min(len(all), mostSentences)
	if len(all) == n+1 {
		n++ // one more takes no more room than to say that there is one
	}
	return sentences{all[:n], all[n:]}
}

func newContent(r *Results, from *files) *content {
	c := &content{
		Title: firstOf(r.Recording.Name, "Recording"), About: about(r),
		Environment: environment(r.Environment), Settings: settings(r.Settings), Notes: r.Notes,
		Schema: fmt.Sprintf("%s, version %d", Schema, Version),
	}
	if r.RetriedRuns > 0 {
		c.Notes = append([]string{fmt.Sprintf("This run was begun again %s before it came out.", times(r.RetriedRuns))}, c.Notes...)
	}
	c.Quality = newQuality(r)
	if r.Video != nil {
		f, err := newFilm(r.Video, r.Recording.Frames, from)
		if err != nil {
			c.FilmProblem = titled(err.Error()) + "."
		}
		c.film, c.Film = f, f != nil
	}
	for i := range r.Windows {
		c.Windows = append(c.Windows, newWindow(i, &r.Windows[i], from))
	}
	c.Overview = newOverview(c.Windows)
	c.Pictures = pictures(r.Pictures, from)
	c.Files = runFiles(r, from)
	return c
}

func about(r *Results) []string {
	var all []string
	if r.Recording.StartedWallNS > 0 && !r.Recording.OwnClock {
		all = append(all, time.Unix(0, r.Recording.StartedWallNS).UTC().Format("2 January 2006, 15:04:05 UTC"))
	}
	for _, key := range []string{EnvDUT, EnvBrowser, EnvOS, EnvNetwork} {
		if text := r.Environment[key]; text != "" {
			all = append(all, text)
		}
	}
	return all
}

// recordingFacts tell the size of what was recorded; they stand with its quality.
func recordingFacts(r *Recording) []fact {
	all := []fact{
		{"recorded", count(r.Frames) + " frames"},
		{"duration", seconds(r.DurationNS)},
		{"size", fmt.Sprintf("%d × %d", r.Width, r.Height)},
	}
	if r.PeriodNS > 0 {
		all = append(all, fact{"rate", trimZeros(strconv.FormatFloat(1e9/float64(r.PeriodNS), 'f', 3, 64)) + " frames/s"})
	}
	if r.PixelFormat != "" {
		all = append(all, fact{"pixels", r.PixelFormat})
	}
	if r.OwnClock {
		all = append(all, fact{"clock", "the file’s own"})
	}
	return all
}

func newQuality(r *Results) qualityView {
	q := qualityView{Facts: recordingFacts(&r.Recording)}
	q.resultView = newResult(&r.Quality, nil)
	for i := range q.Values { // there is no window to begin at
		q.Values[i].All.Frame = 0
	}
	switch {
	case r.Quality.State == analyze.Refused:
		q.Verdict = "Nothing is known about the quality of this recording."
	case r.Recording.Lost == 1:
		q.Verdict = "1 frame is missing from this recording."
	case r.Recording.Lost > 0:
		q.Verdict = grouped(strconv.FormatUint(r.Recording.Lost, 10)) + " frames are missing from this recording."
	case r.Recording.Unclosed:
		q.Verdict = "This recording was cut off: what came at its end is missing."
	case len(r.Quality.Warnings) > 0:
		q.Verdict = "Every frame is there; see what else is to be known."
	default:
		q.Verdict, q.Good = "Every frame is there.", true
	}
	return q
}

func newWindow(i int, w *Window, from *files) windowView {
	v := windowView{
		Index: i, ID: fmt.Sprintf("window-%d", i), Title: firstOf(w.Name, fmt.Sprintf("Frames %s – %s", count(w.Start), count(w.End))),
		About: windowAbout(w), Warnings: newSentences(w.Warnings), HasTimes: len(w.Times.Time) > 0,
	}
	claims := map[string]float64{}
	for name, x := range w.Claims {
		claims[name] = x
	}
	chart, left := 0, w.Pictures
	for k := range w.Results {
		r := newResult(&w.Results[k], claims)
		for j := range r.Values {
			r.Values[j].All.Frame = w.Start
		}
		for j := range r.Charts {
			r.Charts[j].Index = chart
			chart++
		}
		var own []Picture
		own, left = ofMeasure(left, w.Results[k].Measure)
		r.addPictures(own, from)
		if i := headline(&w.Results[k]); i >= 0 && len(v.Tiles) < mostTiles {
			v.Tiles = append(v.Tiles, r.Values[i])
		}
		if r.silent() {
			v.Refused = append(v.Refused, r)
		} else {
			v.Results = append(v.Results, r)
		}
	}
	for k := range w.Checks {
		v.Checks = append(v.Checks, newCheck(&w.Checks[k]))
	}
	for _, name := range sortedKeys(claims) {
		v.Claims = append(v.Claims, fact{words(name), trimZeros(strconv.FormatFloat(claims[name], 'f', 3, 64))})
	}
	for _, p := range pictures(left, from) {
		if p.Kind == PictureFilmstrip {
			v.Strips = append(v.Strips, p)
		} else {
			v.Pictures = append(v.Pictures, p)
		}
	}
	return v
}

// headline finds the value that stands for a measure: what the measure is called for, or the first that users want to be high or
// low. It returns -1 where there is none.
func headline(r *analyze.Result) int {
	first := -1
	for i, v := range r.Values {
		if v.State == analyze.Refused {
			continue
		}
		if _, name := parted(v.Name); name == "framerate" || name == "speed_index" {
			return i
		}
		if first < 0 && (v.Better == analyze.Higher || v.Better == analyze.Lower) {
			first = i
		}
	}
	return first
}

// parted parts the last word of a name with points from what stands before.
func parted(name string) (group, last string) {
	i := strings.LastIndexByte(name, '.')
	return name[:max(i, 0)], name[i+1:]
}

// silent reports whether a result says nothing but why it has nothing to say.
func (v *resultView) silent() bool {
	return v.Refusal != "" && len(v.Values) == 0 && len(v.Charts) == 0 && len(v.Evidence) == 0 && len(v.Pictures) == 0
}

func windowAbout(w *Window) []string {
	all := []string{fmt.Sprintf("frames %s – %s", count(w.Start), count(w.End)), seconds(w.EndNS - w.StartNS)}
	switch w.Kind {
	case Markers:
		all = append(all, "between green and red")
	case End:
		all = append(all, "after the green")
	case All:
		all = append(all, "all of the recording")
	}
	if len(w.Region) == 4 {
		all = append(all, fmt.Sprintf("%d × %d at %d, %d", w.Region[2], w.Region[3], w.Region[0], w.Region[1]))
	}
	all = append(all, differingAbout(w)...)
	if w.T0 != nil {
		text := "T0 (" + firstOf(w.T0.Source, "command") + ") " + milliseconds(w.StartNS-w.T0.AtNS) + " before the first change"
		if w.T0.UncertaintyNS > 0 {
			text += ", ± " + milliseconds(w.T0.UncertaintyNS)
		}
		all = append(all, text)
	}
	return all
}

// differingAbout says which pixels count for different, where that is not simply all that are not equal.
func differingAbout(w *Window) (all []string) {
	if n := len(w.Masks); n > 0 {
		all = append(all, map[bool]string{true: "1 region left out", false: count(n) + " regions left out"}[n == 1])
	}
	if w.Tolerance > 0 || w.MinPixels > 0 || w.Noise != nil {
		text := fmt.Sprintf("tolerance %d, %s pixels may differ", w.Tolerance, count(w.MinPixels))
		if w.Noise != nil {
			text += fmt.Sprintf(", calibrated on %s held frames", count(w.Noise.Frames))
			if n := w.Noise.Pattern; n > 0 {
				text += fmt.Sprintf(", %s of them of a pattern", count(n))
			}
		}
		all = append(all, text)
	}
	return all
}

func milliseconds(ns int64) string {
	return grouped(trimZeros(strconv.FormatFloat(float64(ns)/1e6, 'f', 2, 64))) + " ms"
}

// newResult takes the claims that are on one of its values out of claims.
func newResult(r *analyze.Result, claims map[string]float64) resultView {
	v := resultView{
		Measure: r.Measure, Title: measureTitle(r.Measure), State: string(r.State), Refusal: titled(r.Refusal), Warnings: newSentences(r.Warnings),
	}
	for _, c := range charts(r) {
		view := chartView{Title: chartTitle(c)}
		for _, s := range c.Series {
			view.Series = append(view.Series, strings.ReplaceAll(words(s.Name), ".", " · "))
		}
		v.Charts = append(v.Charts, view)
	}
	for _, value := range r.Values {
		name := r.Measure + "." + value.Name
		view := newValue(r.Measure, value)
		if claim, ok := claims[name]; ok {
			view.Claim, v.HasClaim = number(claim, analyze.Value{Unit: value.Unit})+unitText(value.Unit), true
			delete(claims, name)
		}
		view.Begins = view.Group != "" && (len(v.Values) == 0 || v.Values[len(v.Values)-1].Group != view.Group)
		v.Values = append(v.Values, view)
	}
	v.addEvidence(placed(r.Evidence))
	return v
}

// placed says in words where in its picture the evidence is, for all of which there may be several in one frame.
func placed(all []analyze.Evidence) []analyze.Evidence {
	all = slices.Clone(all)
	for i := range all {
		if r := all[i].Region; len(r) == 4 {
			all[i].Text += fmt.Sprintf(", at %d, %d", r[0], r[1])
		}
	}
	return all
}

// addEvidence makes a card for each frame, as far as there is room.
func (v *resultView) addEvidence(all []analyze.Evidence) {
	card := map[int]int{}
	for _, e := range all {
		i, there := card[e.Frame]
		switch {
		case there && len(v.Evidence[i].Told) < mostTold:
			v.Evidence[i].Told = append(v.Evidence[i].Told, fact{words(e.Kind), e.Text})
		case there:
			v.Evidence[i].Untold++
		case len(v.Evidence) < mostEvidence:
			card[e.Frame] = len(v.Evidence)
			v.Evidence = append(v.Evidence, evidenceView{
				Frame: frameLink{e.Frame, "frame " + count(e.Frame)}, Told: []fact{{words(e.Kind), e.Text}},
			})
		case len(v.More) < mostLinked:
			v.More = append(v.More, frameLink{e.Frame, count(e.Frame)})
		default:
			v.Unlisted++
		}
	}
}

// chartTitle names a graph of one series by it, and one of several by its measure.
func chartTitle(c chartData) string {
	title := measureTitle(c.Measure)
	if len(c.Series) == 1 {
		title = titled(strings.ReplaceAll(words(c.Series[0].Name), ".", " · "))
	}
	switch {
	case c.Unit == "" || strings.HasSuffix(title, c.Unit):
	case c.Unit == "fraction":
		title += ", %"
	default:
		title += ", " + c.Unit
	}
	return title
}

func newValue(measure string, v analyze.Value) valueView {
	group, name := parted(v.Name)
	view := valueView{
		Measure: measureTitle(measure), Group: titled(strings.ReplaceAll(words(group), ".", " · ")), Name: valueTitle(name), Text: valueText(v), Number: shortNumber(v), Unit: unitText(unitOf(shortNumber(v), v.Unit)), Full: fullText(v), Bounds: boundsText(v),
		State: string(v.State), Note: v.Note, All: frameLink{0, "all frames"},
	}
	if v.State == analyze.Refused {
		view.Text, view.Number, view.Unit = "not measured", "–", ""
	}
	for i, n := range v.Frames {
		switch {
		case i < mostFrames:
			view.Frames = append(view.Frames, frameLink{n, count(n)})
		case i < mostFrames+mostLinked:
			view.More = append(view.More, frameLink{n, count(n)})
		default:
			view.Unlisted++
		}
	}
	return view
}

// fullText is a value and its bounds with every digit, for who wants to know.
func fullText(v analyze.Value) string {
	digits := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	if v.Low == v.High {
		return digits(v.Value) + " " + v.Unit
	}
	return fmt.Sprintf("%s %s, between %s and %s", digits(v.Value), v.Unit, digits(v.Low), digits(v.High))
}

// addPictures puts evidence beside what it shows; graphs that the page draws itself are linked.
func (v *resultView) addPictures(all []Picture, from *files) {
	var rest []Picture
	for _, p := range all {
		switch {
		case p.Kind == PictureEvidence && v.illustrate(p, from):
		case (p.Kind == PictureProgress || p.Kind == PictureFrameTimes) && len(v.Charts) > 0:
			if address := from.refer(p.File); address != "" {
				v.Graphs = append(v.Graphs, link{base(p.File), p.Text, template.URL(address)})
			}
		default:
			rest = append(rest, p)
		}
	}
	v.Pictures = pictures(rest, from)
}

func (v *resultView) illustrate(p Picture, from *files) bool {
	for i := range v.Evidence {
		if e := &v.Evidence[i]; e.Frame.Frame == p.Frame && e.Image == "" {
			e.Image = template.URL(from.refer(p.File))
			return true
		}
	}
	return false
}

// ofMeasure parts the pictures of a measure from others.
func ofMeasure(all []Picture, measure string) (own, others []Picture) {
	for _, p := range all {
		if p.Measure == measure {
			own = append(own, p)
		} else {
			others = append(others, p)
		}
	}
	return own, others
}

// pictures leaves out files that are not there.
func pictures(all []Picture, from *files) []pictureView {
	var views []pictureView
	for _, p := range all {
		address := from.refer(p.File)
		if address == "" {
			continue
		}
		v := pictureView{Kind: p.Kind, Text: p.Text, Name: base(p.File), Image: template.URL(address)}
		if !from.inline { // numbers are many, and not what a page is shared for
			v.Data = link{base(p.Data), "the numbers", template.URL(from.refer(p.Data))}
		}
		if p.Frame >= 0 {
			v.Frame = &frameLink{p.Frame, "frame " + count(p.Frame)}
		}
		views = append(views, v)
	}
	return views
}
