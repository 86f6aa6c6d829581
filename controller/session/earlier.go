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
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/scripts"
	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/analyze/vitals"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller/groundtruth"
	"github.com/eideticker/eideticker/netsim/har"
	"github.com/eideticker/eideticker/netsim/site"
)

// Earlier holds the data of a run folder that its recording does not have. It is kept when the
// recording is measured again.
type Earlier struct {
	dir         string
	name        string
	environment result.Environment
	retried     int
	said        []string        // notes of the run, before it was measured
	failed      string          // why the run failed or was rejected, or ""
	network     *result.Network // nil: the device's own
	vitals      *vitals.Claims  // of the page; nil: they were not read
	script      *scripts.Run    // nil: its files are missing, or scripts were not instrumented
	profileOnce *result.Profile // of the first measurement; nil: unknown
	recording   string          // ID
	scriptOnce  *result.Script  // of the first measurement, without its files; nil: unknown
	fall        *har.Waterfall  // nil: unknown
	har         bool            // the HAR file exists, readable or not
	report      *site.Report    // of the only page; nil: unknown
	primary     []string        // values to read first, as the test declares
	measured    *Measured       // settings of the first measurement; nil: unknown
	checks      string          // results of the first measurement's checks, or ""
	made        int             // number of these checks
	wrong       []string        // those of them that failed
	notes       []string        // about files that could not be read
}

// ReadEarlier reads the files beside a recording that is measured again. It skips files of another
// recording. Files that cannot be read become notes of the results. The error is that of ctx.
func ReadEarlier(ctx context.Context, file string, r *recording.Reader) (*Earlier, error) {
	e := readEarlier(ctx, file, r)
	if ctx.Err() != nil { // unread data would be lost
		return nil, context.Cause(ctx)
	}
	return e, nil
}

func readEarlier(ctx context.Context, file string, r *recording.Reader) *Earlier {
	e := &Earlier{dir: filepath.Dir(file), environment: result.Environment{}}
	e.withReport(r)
	var results *result.Results
	var record *Record
	if err := e.open(ctx, result.FileName,
		func(f io.Reader) (err error) { results, err = result.Decode(f); return err }); err != nil {
		e.note("%s beside the recording cannot be read, and what it said of the run is not kept: %v", result.FileName,
			err)
	}
	if results != nil && runfolder.ResultsAreOf(results.Recording, r, file) != nil {
		return e
	}
	if filepath.Base(file) == runfolder.RecordingFile { // the name in run folders
		if err := e.open(ctx, RecordFile,
			func(f io.Reader) (err error) { record, err = ReadRecord(f); return err }); err != nil {
			e.note("%s beside the recording cannot be read, and what it said of the run is not kept: %v", RecordFile,
				err)
		}
	}
	if record != nil && !isOf(record, r, results) {
		e.note("nothing of %s beside the recording is kept: it is of another recording, or does not say that it is "+
			"of this one", RecordFile)
		record = nil
	}
	if record != nil {
		e.ofRecord(record)
	}
	if results != nil {
		e.name, e.retried, e.network = cmp.Or(e.name, results.Recording.Name), results.RetriedRuns, results.Network
		e.vitals, e.scriptOnce = results.Vitals, results.Script
		e.profileOnce = results.Profile
		maps.Copy(e.environment, results.Environment)
	}
	if results != nil && record != nil {
		e.said = ownNotes(results.Notes, record.Notes)
	}
	delete(e.environment, result.EnvAnalysisBuild) // another one now
	e.withNetwork(ctx, record, idOf(r))
	e.withScripts(ctx, idOf(r))
	e.recording = idOf(r)
	return e
}

// isOf reports if a run.json is of a recording. Records of older programs have no ID. They must
// have as many frames, and results with the name of their test. A killed run has no number of
// frames.
func isOf(record *Record, r *recording.Reader, results *result.Results) bool {
	if record.Recording != "" {
		return strings.EqualFold(record.Recording, idOf(r))
	}
	killed := record.State == Running && record.Frames == 0
	return (killed || record.Frames == uint64(r.Frames())) && (results == nil || results.Recording.Name == record.Test)
}

// idOf returns a recording's ID in the form of run.json.
func idOf(r *recording.Reader) string { return fmt.Sprintf("%x", r.Info().ID) }

// RecordingID returns the ID of a recording file, for run.json; "": it cannot be read.
func RecordingID(file string) string {
	r, err := recording.Open(file)
	if err != nil {
		return ""
	}
	defer r.Close() // only read
	return idOf(r)
}

// ofRecord takes the parts of a run.json that results may have.
func (e *Earlier) ofRecord(r *Record) {
	if short(r.Test) {
		e.name = r.Test
	}
	maps.Copy(e.environment, r.Environment)
	maps.DeleteFunc(e.environment, func(key, value string) bool { return !short(key) || !short(value) })
	e.failed = cut(r.why(), 4000)
	e.ofChecks(r)
	if !slices.ContainsFunc(r.Primary, func(name string) bool { return !short(name) }) {
		e.primary = r.Primary
	}
	if r.Measured == nil {
		return
	}
	if err := r.Measured.check(); err != nil {
		e.note("what %s says of how the run was measured is not used: %v", RecordFile, err)
		return
	}
	e.measured = r.Measured
}

// ofChecks keeps the checks of the first measurement, in case that they are not made again.
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
	e.checks = fmt.Sprintf("of %d checks that were made against what the page drew when it was measured first, %d "+
		"failed%s; %d more could not be made%s",
		r.Checks, failed, which(r.ChecksFailed), left, which(r.ChecksNotMade)) + notAgain
}

// Ends of the note of checks.
const (
	notAgain    = "; they are not made again"
	notAllAgain = "; not all of them are made again"
)

// withReport reads the page's report from the recording. With several reports, their windows are
// unknown.
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
		e.note("results are not compared with the drawn content, since the page's report is invalid: %v", err)
		return
	}
	e.report = &told
}

// HoldAgainst compares new results with the page's report. Call it before [Earlier.Keep]. The
// report describes all pixels from green to the page's end. So results of other settings than the
// first ones are not compared.
func (e *Earlier) HoldAgainst(ctx context.Context, r *recording.Reader, s runfolder.Settings, found *runfolder.Found) {
	if e.report == nil || !e.measured.sameAs(s) || len(found.Outcomes) != 1 || found.Outcomes[0] == nil {
		return
	}
	if k := found.Outcomes[0].Window.Kind; k != analyze.ByMarkers && k != analyze.ByEnd {
		return
	}
	page, err := groundtruth.Read(ctx, groundtruth.Input{Reader: r, Outcome: found.Outcomes[0], Masks: found.Masks[0],
		Report: *e.report, Script: e.scriptOf(found), Measures: s.Measures})
	if err != nil {
		e.note("results could not be compared with the drawn content: %v", err)
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

// madeAgain reports if there are as many checks as at first, with all that failed then.
func (e *Earlier) madeAgain(checks []result.Check) bool {
	n, made := 0, map[string]bool{}
	for i := range checks {
		if !checks[i].Unchecked {
			n, made[checks[i].What] = n+1, true
		}
	}
	return n >= e.made && !slices.ContainsFunc(e.wrong, func(what string) bool { return !made[what] })
}

// short reports if a text may be a name in results.
func short(text string) bool { return len(text) <= 300 && utf8.ValidString(text) }

// ownNotes returns the notes of the run itself. They precede those of the measurement and are in
// run.json too.
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

// open reads a file of the folder, if it exists, until ctx ends. It rejects pipes: opening one
// waits for a writer.
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
	defer f.Close() // only read
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

// withNetwork reads the traffic of a run with its own network. A HAR file belongs to the run if
// run.json is beside it, or if the results name it. A HAR file of another recording is skipped.
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
	if e.network == nil { // not measured, or by an older program
		if e.network = record.Network.results(e.fall); !sound(e.network) {
			e.note("what %s says of the network is not kept: no run writes such figures", RecordFile)
			e.network, e.fall = nil, nil
			return
		}
	}
	e.network.File = ""
}

// sound reports if a run can have written the network part of its run.json.
func sound(n *result.Network) bool {
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

// Name returns the name of the test, or else of the earlier results; "": unknown.
func (e *Earlier) Name() string { return e.name }

// Keep adds the run's data to new results. [Earlier.Network] has the data for the folder.
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
	results.Network, results.Vitals = e.network, e.vitals
	results.Script = e.scriptOf(found)
	results.Profile = e.profileOf(found)
	addMessages(found, e.report)
}

// scriptOf returns the calls of the run's scripts with the late frames of new results. It returns
// nil if they are unknown.
func (e *Earlier) scriptOf(found *runfolder.Found) *result.Script {
	if e.script == nil {
		return e.scriptOnce
	}
	return e.script.Results(found.Results.Windows)
}

// carry adds data of a run to results.
func carry(results *result.Results, retried int, notes []string, environment result.Environment) {
	results.RetriedRuns = retried
	results.Notes = append(slices.Clone(notes), results.Notes...)
	maps.Copy(results.Environment, environment)
}

// Beginnings of the note of a run that failed or was rejected.
const (
	failedNote   = "the run has failed: "
	rejectedNote = "the run does not count: "
)

// why returns that note; "": the run counts.
func (r *Record) why() string {
	switch r.State {
	case Failed:
		return failedNote + r.Reason
	case Rejected:
		return rejectedNote + r.Reason
	}
	return ""
}

// withScripts reads the records of the run's scripts. Files of another recording are skipped.
// Without them, the first measurement's data is kept, without late frames: its windows may be
// others.
func (e *Earlier) withScripts(ctx context.Context, id string) {
	if e.scriptOnce == nil && e.environment[result.EnvScript] == "" {
		return
	}
	var info *scripts.Info
	var arrived []trace.Arrived
	err := e.open(ctx, scripts.InfoFile,
		func(f io.Reader) (err error) { info, err = scripts.ReadInfo(f); return err })
	switch {
	case err == nil && info == nil:
		err = errors.New("it is not there")
	case err == nil && !strings.EqualFold(info.Recording, id):
		err = errors.New("it is of another recording")
	}
	name, logged := scripts.InfoFile, false
	if err == nil {
		name = scripts.LogFile
		err = e.open(ctx, scripts.LogFile, func(f io.Reader) (err error) {
			logged = true
			arrived, err = scripts.ReadLog(f, timeline.Time(info.StartNS))
			return err
		})
		if err != nil { // the batches before the error remain
			e.note("records of scripts are missing, since %s cannot be read: %v", name, err)
		}
		if logged || err != nil {
			e.script = scripts.New(info, arrived)
			return
		}
		err = errors.New("it is not there")
	}
	e.note("late frames have no causes in scripts, since %s cannot be read: %v", name, err)
	if e.scriptOnce != nil {
		once := *e.scriptOnce
		once.Late, once.Log = nil, ""
		e.scriptOnce = &once
	}
}

// Scripts returns a function for [runfolder.FolderOptions.More] of a folder. It adds the files with
// the records of scripts.
func (e *Earlier) Scripts(to string) func(dir string) error {
	if e.script == nil {
		return nil
	}
	if sameFolder(e.dir, to) {
		return func(string) error { return nil }
	}
	return func(dir string) error {
		for _, name := range []string{scripts.InfoFile, scripts.LogFile} {
			if err := e.link(name, dir, scripts.MaxLog); err != nil {
				return err
			}
		}
		return nil
	}
}

// Network returns the traffic of the run's network, for a folder; nil: the device's own network.
func (e *Earlier) Network(to string) *runfolder.Network {
	if e.network == nil {
		return nil
	}
	results := *e.network
	n := &runfolder.Network{Results: &results, Fall: e.fall}
	if sameFolder(e.dir, to) {
		if e.har {
			results.File = HARFile
		}
		return n
	}
	if e.fall != nil { // an unreadable file stays in its folder
		results.File, n.HAR = HARFile, func(dir string) error { return e.link(HARFile, dir, har.MaxBytes) }
	}
	return n
}

func sameFolder(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// link links or copies a file into another folder.
func (e *Earlier) link(name, dir string, limit int64) error {
	from, to := filepath.Join(e.dir, name), filepath.Join(dir, name)
	if os.Link(from, to) == nil {
		return nil
	}
	return e.open(context.Background(), name, func(f io.Reader) error { // it was read already
		return writeTo(to, func(w io.Writer) error {
			_, err := io.Copy(w, io.LimitReader(f, limit))
			return err
		})
	})
}
