package main

type demoCmd struct{ JSON bool }

func (demoCmd) Run(e *env) error { return nil }
