package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/report"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/groundtruth"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/site"
)

// Earlier is what a run folder tells of its run beside the recording. It stays when the recording
// is measured again.
type Earlier struct {
	dir         string
	name        string
	environment report.Environment
	retried     int
	said        []string        // by the run, before it was measured
	failed      string          // why it has failed or does not count, or ""
	network     *report.Network // nil: the run had none of its own
	fall        *har.Waterfall  // nil: it cannot be drawn
	har         bool            // it is there, whatever it is like
	report      *site.Report    // of the only page; nil: it is none of ours, or what it told is not there
	measured    *Measured       // what it was measured by first; nil: nobody knows
	checks      string          // what came of them when the run was measured first, or ""
	made        int             // of them
	wrong       []string        // of those, the ones that failed
	notes       []string        // of what could not be read
}

// ReadEarlier reads what lies beside a recording that is going to be measured again. What is of
// another recording does not count; what cannot be read is told in the notes of the results. The
// error is that of ctx.
func ReadEarlier(ctx context.Context, file string, r *recording.Reader) (*Earlier, error) {
	e := readEarlier(ctx, file, r)
	if ctx.Err() != nil { // what it did not read would be lost
		return nil, context.Cause(ctx)
	}
	return e, nil
}

func readEarlier(ctx context.Context, file string, r *recording.Reader) *Earlier {
	e := &Earlier{dir: filepath.Dir(file), environment: report.Environment{}}
	e.withReport(r)
	var results *report.Results
	var record *Record
	if err := e.open(ctx, report.FileName,
		func(f io.Reader) (err error) { results, err = report.Decode(f); return err }); err != nil {
		e.note("%s beside the recording cannot be read, and what it said of the run is not kept: %v", report.FileName,
			err)
	}
	if results != nil && runfolder.ResultsAreOf(results.Recording, r, file) != nil {
		return e
	}
	if filepath.Base(file) == runfolder.RecordingFile { // which is what a run calls its own
		if err := e.open(ctx, RecordFile,
			func(f io.Reader) (err error) { record, err = ReadRecord(f); return err }); err != nil {
			e.note("%s beside the recording cannot be read, and what it said of the run is not kept: %v", RecordFile,
				err)
		}
	}
	if record != nil && !isOf(record, r, results) {
		e.note("nothing of %s beside the recording is kept: it is of another recording, or does not say that it is of this one", RecordFile)
		record = nil
	}
	if record != nil {
		e.ofRecord(record)
	}
	if results != nil {
		e.name, e.retried, e.network = cmp.Or(e.name, results.Recording.Name), results.RetriedRuns, results.Network
		maps.Copy(e.environment, results.Environment)
	}
	if results != nil && record != nil {
		e.said = ownNotes(results.Notes, record.Notes)
	}
	delete(e.environment, report.EnvAnalysisBuild) // which is another one now
	e.withNetwork(ctx, record, idOf(r))
	return e
}

// isOf reports whether a run.json is of a recording. Those of before have no ID: theirs has as many
// frames, and what results of it are there call it by the name of the test. Of a run that was
// killed neither is known.
func isOf(record *Record, r *recording.Reader, results *report.Results) bool {
	if record.Recording != "" {
		return strings.EqualFold(record.Recording, idOf(r))
	}
	killed := record.State == Running && record.Frames == 0
	return (killed || record.Frames == uint64(r.Frames())) && (results == nil || results.Recording.Name == record.Test)
}

// idOf is a recording's ID as files of the run folder have it.
func idOf(r *recording.Reader) string { return fmt.Sprintf("%x", r.Info().ID) }

// RecordingID is the ID of the recording in a file, for run.json; "" where none can be read.
func RecordingID(file string) string {
	r, err := recording.Open(file)
	if err != nil {
		return ""
	}
	defer r.Close() // was only read
	return idOf(r)
}

// ofRecord takes what results may say of a run.json.
func (e *Earlier) ofRecord(r *Record) {
	if short(r.Test) {
		e.name = r.Test
	}
	maps.Copy(e.environment, r.Environment)
	maps.DeleteFunc(e.environment, func(key, value string) bool { return !short(key) || !short(value) })
	e.failed = cut(r.why(), 4000)
	e.ofChecks(r)
	if r.Measured == nil {
		return
	}
	if err := r.Measured.check(); err != nil {
		e.note("what %s says of how the run was measured is not used: %v", RecordFile, err)
		return
	}
	e.measured = r.Measured
}

// ofChecks tells of what was held against what the page drew when the run was measured first, for
// where that is not done again.
func (e *Earlier) ofChecks(r *Record) {
	failed, left := len(r.ChecksFailed), len(r.ChecksNotMade)
	if r.Checks <= 0 && failed == 0 && left == 0 {
		return
	}
	which := func(list []string) string {
		if len(list) == 0 {
			return ""
		}
		return " (" + cut(strings.Join(list, ", "), 300) + ")"
	}
	e.made, e.wrong = r.Checks, r.ChecksFailed
	e.checks = fmt.Sprintf("of %d checks that were made against what the page drew when it was measured first, %d failed%s; %d more could not be made%s", r.Checks, failed, which(r.ChecksFailed), left, which(r.ChecksNotMade)) + notAgain
}

// These end the note of them.
const (
	notAgain    = "; they are not made again"
	notAllAgain = "; not all of them are made again"
)

// withReport reads what a page told of itself, which the recording has. Where several were played,
// which window is whose is not known here.
func (e *Earlier) withReport(r *recording.Reader) {
	var data []byte
	for n, event := range r.Events() {
		if event.Source != site.EventSource || event.Kind != site.ReportEvent {
			continue
		}
		if data != nil {
			return
		}
		whole, err := r.Event(n)
		if err != nil {
			e.note("the page's report cannot be read: %v", err)
			return
		}
		data = whole.Data
	}
	if data == nil {
		return
	}
	told, err := site.ReadReport(data)
	if err != nil {
		e.note("what was measured is not held against what the page drew, since what it told of that cannot be used: %v", err)
		return
	}
	e.report = &told
}

// HoldAgainst holds what was measured again against what the page drew, as was done when the run
// was measured first, before [Earlier.Keep]. The page tells of all of its pixels, from green to its
// end: of what is measured otherwise than at first, or nobody knows how it was at first, nothing is
// known.
func (e *Earlier) HoldAgainst(ctx context.Context, r *recording.Reader, s runfolder.Settings, found *runfolder.Found) {
	if e.report == nil || !e.measured.sameAs(s) || len(found.Outcomes) != 1 || found.Outcomes[0] == nil {
		return
	}
	if k := found.Outcomes[0].Window.Kind; k != analyze.ByMarkers && k != analyze.ByEnd {
		return
	}
	page, err := groundtruth.Read(ctx, groundtruth.Input{Reader: r, Outcome: found.Outcomes[0], Masks: found.Masks[0],
		Report: *e.report, Measures: s.Measures})
	if err != nil {
		e.note("what was measured could not be held against what the page drew: %v", err)
		return
	}
	w := &found.Results.Windows[0]
	w.Checks, w.Claims = page.Checks, page.Claims
	if e.madeAgain(page.Checks) {
		e.checks = ""
		return
	}
	if first, ok := strings.CutSuffix(e.checks, notAgain); ok {
		e.checks = first + notAllAgain
	}
}

// madeAgain reports whether checks are no fewer than those that were made at first, and have those
// that failed then.
func (e *Earlier) madeAgain(checks []report.Check) bool {
	n, made := 0, map[string]bool{}
	for i := range checks {
		if !checks[i].Unchecked {
			n, made[checks[i].What] = n+1, true
		}
	}
	return n >= e.made && !slices.ContainsFunc(e.wrong, func(what string) bool { return !made[what] })
}

// short reports whether results may have a text as a name.
func short(text string) bool { return len(text) <= 300 && utf8.ValidString(text) }

// ownNotes are what the run itself has said: they stand before what is said of the measuring, and
// run.json has them too.
func ownNotes(results, record []string) []string {
	n := 0
	for n < min(len(results), len(record)) && results[n] == record[n] && !strings.HasPrefix(results[n],
		runfolder.InterruptedNote) {
		n++
	}
	return results[:n:n]
}

func (e *Earlier) note(format string, args ...any) {
	e.notes = append(e.notes, cut(fmt.Sprintf(format, args...), 1000))
}

// open reads a file of the folder, if it is there, until ctx ends. Pipes are none: to open one is
// to wait for who writes into it.
func (e *Earlier) open(ctx context.Context, name string, read func(io.Reader) error) error {
	path := filepath.Join(e.dir, name)
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", name)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // was only read
	return read(untilDone{ctx, f})
}

// untilDone reads until ctx ends.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (u untilDone) Read(b []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.Reader.Read(b)
}

// withNetwork reads what the network brought, where the run had one of its own. A HAR file is the
// run's if its run.json lies beside it, or the results name it, and it does not say that it is of
// another recording.
func (e *Earlier) withNetwork(ctx context.Context, record *Record, id string) {
	switch {
	case e.network == nil && (record == nil || record.Network == nil):
		return
	case record == nil && e.network.File == "":
		e.note("no waterfall is drawn of what the network brought: nothing says that a %s is of this recording",
			HARFile)
		return
	}
	err := e.open(ctx, HARFile,
		func(f io.Reader) (err error) { e.har = true; e.fall, err = har.ReadWaterfall(f); return err })
	switch {
	case err != nil:
		e.note("no waterfall is drawn of what the network brought, since %s cannot be read: %v", HARFile, err)
	case e.fall == nil:
		e.note("no waterfall is drawn of what the network brought: %s is not there", HARFile)
	case e.fall.Recording != "" && string(e.fall.Recording) != id:
		e.note("no waterfall is drawn of what the network brought: %s is of another recording", HARFile)
		e.fall, e.har = nil, false
	}
	if e.network == nil { // of a run that was not measured, or by a program that left it out
		if e.network = record.Network.results(e.fall); !sound(e.network) {
			e.note("what %s says of the network is not kept: no run writes such figures", RecordFile)
			e.network, e.fall = nil, nil
			return
		}
	}
	e.network.File = ""
}

// sound reports whether a run could have written what its run.json says of the network.
func sound(n *report.Network) bool {
	for _, v := range []int64{n.RTTAskedNS, n.RTTNS, n.DownAsked, n.Down, n.UpAsked, n.Up, int64(n.Missed),
		int64(n.NamesRefused), int64(n.Connections), n.BytesUp, n.BytesDown} {
		if v < 0 {
			return false
		}
	}
	for _, share := range []float64{n.LossAsked, n.Loss} {
		if share < 0 || share > 1 {
			return false
		}
	}
	return n.Requests >= len(n.List) && short(n.Profile)
}

// Name is that of the test, or what the recording was called when it was measured before; "" where
// neither is known.
func (e *Earlier) Name() string { return e.name }

// Keep puts into new results what the run brought that is in no recording. What of the network
// belongs in a folder is told by [Earlier.Network].
func (e *Earlier) Keep(found *runfolder.Found) {
	results := &found.Results
	carry(results, e.retried, e.said, e.environment)
	if e.failed != "" {
		results.Notes = append(results.Notes, e.failed)
	}
	if e.checks != "" {
		results.Notes = append(results.Notes, e.checks)
	}
	results.Notes = append(results.Notes, e.notes...)
	results.Network = e.network
}

// carry puts into results what is known of a run and not of its recording.
func carry(results *report.Results, retried int, notes []string, environment report.Environment) {
	results.RetriedRuns = retried
	results.Notes = append(slices.Clone(notes), results.Notes...)
	maps.Copy(results.Environment, environment)
}

// These begin the note in the results of a run that has failed, and of one that does not count.
const (
	failedNote   = "the run has failed: "
	rejectedNote = "the run does not count: "
)

// why is that note; "" of a run that counts.
func (r *Record) why() string {
	switch r.State {
	case Failed:
		return failedNote + r.Reason
	case Rejected:
		return rejectedNote + r.Reason
	}
	return ""
}

// Network is what the run's network brought, for the folder that is written; nil: it had none of
// its own.
func (e *Earlier) Network(to string) *runfolder.Network {
	if e.network == nil {
		return nil
	}
	results := *e.network
	n := &runfolder.Network{Results: &results, Fall: e.fall}
	a, errA := os.Stat(e.dir)
	b, errB := os.Stat(to)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		if e.har {
			results.File = HARFile
		}
		return n
	}
	if e.fall != nil { // what cannot be read stays where it is
		results.File, n.HAR = HARFile, e.linkHAR
	}
	return n
}

// linkHAR puts the HAR file into another folder.
func (e *Earlier) linkHAR(dir string) error {
	from, to := filepath.Join(e.dir, HARFile), filepath.Join(dir, HARFile)
	if os.Link(from, to) == nil {
		return nil
	}
	return e.open(context.Background(), HARFile, func(f io.Reader) error { // it was read already
		return writeTo(to, func(w io.Writer) error {
			_, err := io.Copy(w, io.LimitReader(f, har.MaxBytes))
			return err
		})
	})
}
