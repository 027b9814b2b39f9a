package value

const minWeight = 32

// Weight returns about how many bytes of memory a value takes: the size of its texts, where every value counts 32 bytes
// or more. A value like [{},{},…] takes fifty times the size of its JSON.
func Weight(v any) int64 {
	weight := int64(minWeight)
	switch v := v.(type) {
	case string:
		return max(weight, int64(len(v)))
	case Bytes:
		return max(weight, int64(len(v)))
	case []any:
		for _, e := range v {
			weight += Weight(e)
		}
	case map[string]any:
		for name, e := range v {
			weight += int64(len(name)) + Weight(e)
		}
	case interface{ Weight() int64 }: // a LazyJSON
		return v.Weight()
	}
	return weight
}

// WeightOfJSON returns the Weight of the value of a JSON text, without decoding it.
func WeightOfJSON(text []byte) int64 {
	values, inText := 1, false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			inText = !inText
		case ',', '[', '{': // a value comes after each of them
			if !inText {
				values++
			}
		}
	}
	return int64(len(text) + minWeight*values)
}
