package profile

import "context"

// openers open the engines that options select. An opener returns nil for an engine that is not
// selected.
func openers() []func(context.Context, Options) (engine, error) {
	return []func(context.Context, Options) (engine, error){openNative, openSockets, openTrace}
}

// openTrace rejects the browser's own trace.
func openTrace(_ context.Context, o Options) (engine, error) {
	if o.JS != jsTrace {
		return nil, nil
	}
	return nil, &missingError{"js", "traces of browsers cannot be started", "join one with eideticker attach"}
}
