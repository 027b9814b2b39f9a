package mcp

// lookup returns the text of the value at path inside an object that was scanned before.
func lookup(object []byte, path ...string) ([]byte, bool) {
	for _, name := range path {
		s := scanner{data: object, limit: len(object)}
		if s.space() != '{' {
			return nil, false
		}
		base, err := s.enter()
		for {
			var key, v []byte
			if err != nil {
				return nil, false
			}
			if key, err = s.key(base); err != nil || key == nil {
				return nil, false
			}
			if v, err = s.value(); string(key) == name {
				object = v
				break
			}
		}
	}
	return object, true
}

// member returns the text that a member of a scanned object is.
func member(object []byte, name string) (string, bool) {
	raw, ok := lookup(object, name)
	if !ok {
		return "", false
	}
	return text(raw)
}

// holdsTexts reports whether a scanned value is an object and every member of it a string.
func holdsTexts(object []byte) bool {
	s := scanner{data: object, limit: len(object)}
	if s.space() != '{' {
		return false
	}
	base, err := s.enter()
	for err == nil {
		key, bad := s.key(base)
		if bad != nil || key == nil {
			return bad == nil
		}
		var v []byte
		if v, err = s.value(); len(v) == 0 || v[0] != '"' {
			return false
		}
	}
	return false
}

// texts returns the elements of a scanned value, each once, when it is an array and every element a string.
func texts(array []byte) (all []string, ok bool) {
	s := scanner{data: array, limit: len(array)}
	if s.space() != '[' || s.enterArray() != nil {
		return nil, false
	}
	seen := make(map[string]bool)
	for first := true; ; first = false {
		more, err := s.element(first)
		if err != nil || !more {
			return all, err == nil
		}
		raw, _ := s.value()
		v, ok := text(raw)
		if !ok {
			return nil, false
		}
		if !seen[v] {
			seen[v] = true
			all = append(all, v)
		}
	}
}
