package report

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze"
)

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

// headline finds the value that stands for a measure: what the measure is called for, or the first
// that users want to be high or low. It returns -1 where there is none.
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

// newResult takes the claims that are on one of its values out of claims.
func newResult(r *analyze.Result, claims map[string]float64) resultView {
	v := resultView{
		Measure: r.Measure, Title: measureTitle(r.Measure), State: string(r.State), Refusal: titled(r.Refusal),
		Warnings: newSentences(r.Warnings),
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

// placed says in words where in its picture the evidence is, for all of which there may be several
// in one frame.
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
		Measure: measureTitle(measure), Group: titled(strings.ReplaceAll(words(group), ".", " · ")),
		Name: valueTitle(name), Text: valueText(v), Number: shortNumber(v),
		Unit: unitText(unitOf(shortNumber(v), v.Unit)), Full: fullText(v), Bounds: boundsText(v),
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
