package load

func AllVariants() []string              { return variantNames() }
func FigureNames(prefix string) []string { return append(figureValues(prefix), scriptValues()...) }
func HistogramNames() []string           { return histogramValues() }
