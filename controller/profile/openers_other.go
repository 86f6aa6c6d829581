//go:build !linux

package profile

import "context"

// openers return the reason for which engines are missing.
func openers() []func(context.Context, Options) (engine, error) {
	return []func(context.Context, Options) (engine, error){func(_ context.Context, o Options) (engine, error) {
		if o.native() == none && !o.Sockets && (o.JS == "" || o.JS == none) {
			return nil, nil
		}
		return nil, &missingError{"engines", "this needs Linux", ""}
	}}
}
