package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxRecordBytes bounds a run.json: an environment and some notes have a few kilobytes.
const maxRecordBytes = 4 << 20

// ErrVersion is wrapped where a run.json is of another version of the schema.
var ErrVersion = errors.New("another version of the run.json schema")

// ReadRecord reads a run.json from anywhere.
func ReadRecord(from io.Reader) (*Record, error) {
	raw, err := io.ReadAll(io.LimitReader(from, maxRecordBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", RecordFile, err)
	}
	if len(raw) > maxRecordBytes {
		return nil, fmt.Errorf("read %s: larger than %d MiB", RecordFile, maxRecordBytes>>20)
	}
	r, err := decodeRecord(raw)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", RecordFile, err)
	}
	return r, nil
}

// decodeRecord looks at schema and version alone first, since the rest may mean something else.
func decodeRecord(raw []byte) (*Record, error) {
	var head struct {
		Schema  string `json:"schema"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, err
	}
	switch {
	case head.Schema != Schema:
		return nil, fmt.Errorf("schema is %.40q: must be %q", head.Schema, Schema)
	case head.Version != Version:
		return nil, fmt.Errorf("%w: the file has version %d, this program reads %d", ErrVersion, head.Version, Version)
	}
	var r Record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, err
	}
	switch r.State {
	case Running, Passed, Failed, Rejected:
		return &r, nil
	}
	return nil, fmt.Errorf("state is %.40q: must be %s, %s, %s or %s", r.State, Running, Passed, Failed, Rejected)
}

// Write writes run.json into a run folder, so that it is there as a whole or not at all.
func (r *Record) Write(dir string) error { return r.write(dir) }
