package store

import "time"

// runColumns are those of a Run, in the order of Run.columns and Run.pointers.
const (
	runColumns = `id, test, device, browser, build, label, branch, revision, state, reason, warm_up,
	started, elapsed, frames, lost, bytes, pinned, verdict, base`
	columnCount = 19
)

func (r *Run) columns() []any {
	return []any{
		r.ID, r.Test, r.Device, r.Browser, r.Build, r.Label, r.Branch, r.Revision, string(r.State), r.Reason, r.WarmUp,
		r.Started.UnixNano(), int64(r.Elapsed), int64(r.Frames), int64(r.Lost), r.Bytes, r.Pinned,
		string(r.Verdict), r.Base,
	}
}

// scan reads a row that begins with a key, what else is wanted, and then runColumns.
func (r *Run) scan(from interface{ Scan(...any) error }, before ...any) error {
	var started, frames, lost int64
	err := from.Scan(append(before,
		&r.ID, &r.Test, &r.Device, &r.Browser, &r.Build, &r.Label, &r.Branch, &r.Revision, &r.State, &r.Reason,
		&r.WarmUp,
		&started, &r.Elapsed, &frames, &lost, &r.Bytes, &r.Pinned, &r.Verdict, &r.Base)...)
	r.Started, r.Frames, r.Lost = time.Unix(0, started), uint64(frames), uint64(lost)
	if top := topOf(r.ID); top != r.ID {
		r.Set = top
	}
	return err
}
