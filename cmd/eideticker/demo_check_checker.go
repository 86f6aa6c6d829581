package main

func (t *demoTruth) checkChecker() []demoCheck { return nil }
