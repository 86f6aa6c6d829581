package client

import (
	"context"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/deploy/api"
)

// Names returns the names of devices, the IDs of jobs, or those of the latest runs with a text.
// The kind is device, job or run; others have no names.
func (c *Client) Names(ctx context.Context, kind, text string) (names []string, err error) {
	var got struct {
		Devices []api.Device
		Jobs    []api.Job
		Runs    []api.RunInfo
	}
	switch kind {
	case "device", "job":
		err = c.Call(ctx, kind+".list", api.Empty{}, &got)
	case "run":
		err = c.Call(ctx, "run.list", api.ListParams{Text: text, Limit: api.MaxLimit}, &got)
	}
	for _, d := range got.Devices {
		names = append(names, d.Name)
	}
	for _, j := range got.Jobs {
		names = append(names, j.ID)
	}
	for _, r := range got.Runs {
		names = append(names, r.ID)
	}
	return names, err
}

// Complete returns the IDs for a short ID: the beginning of an ID, or its last word, such as k7f2.
// A run may also stand for its set. A whole ID is its only result.
func Complete(short string, ids []string) (found []string) {
	const least = 4 // characters
	for _, id := range ids {
		for end := range len(id) + 1 {
			if end < len(id) && id[end] != '~' {
				continue
			}
			whole := id[:end] // the set, or the run
			if whole == short {
				return []string{short}
			}
			if len(short) >= least && (strings.HasPrefix(whole, short) || strings.HasSuffix(whole, "-"+short)) {
				found = append(found, whole)
				break
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
