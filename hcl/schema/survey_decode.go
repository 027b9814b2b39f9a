package schema

import (
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/value"
)

// decode decodes the text after it was read.
func (s *survey) decode() (any, error) {
	s.scan = jsonscan.New(s.text, value.MaxDepth)
	return s.decodeValue()
}

func (s *survey) decodeValue() (any, error) {
	c, at := s.scan.Peek(), s.scan.Pos()
	if s.skip < len(s.skips) && s.skips[s.skip].at == at {
		s.skip++
		_, err := s.scan.Value()
		return s.skips[s.skip-1], err
	}
	switch c {
	case '"':
		return s.scan.Text()
	case '[':
		return s.decodeList(s.countOf(at))
	case '{':
		return s.decodeObject(s.countOf(at))
	}
	return value.DecodeScalar(&s.scan)
}

// countOf returns how many elements the collection at an offset has; 0 for a few.
func (s *survey) countOf(at int) int {
	counts := s.counts
	for s.counted < len(counts) && int(counts[s.counted].at) < at { // in what was skipped
		s.counted++
	}
	if s.counted < len(counts) && int(counts[s.counted].at) == at {
		s.counted++
		return int(counts[s.counted-1].n)
	}
	return 0
}

// atEnd reports whether nothing more is decoded.
func (s *survey) atEnd() bool {
	s.ended = s.ended || s.scan.Pos() >= s.end
	return s.ended
}

func (s *survey) decodeList(n int) (any, error) {
	if err := s.scan.EnterArray(); err != nil {
		return nil, err
	}
	if n > 0 {
		list := make([]any, 0, n)
		err := s.decodeElements(func(v any) { list = append(list, v) })
		return list, err
	}
	from := len(s.few)
	err := s.decodeElements(func(v any) { s.few = append(s.few, v) })
	list := append(make([]any, 0, len(s.few)-from), s.few[from:]...)
	clear(s.few[from:])
	s.few = s.few[:from]
	return list, err
}

// decodeElements decodes the elements of a list.
func (s *survey) decodeElements(add func(v any)) error {
	for {
		more, err := s.scan.NextElement()
		if err != nil || !more || s.atEnd() {
			return err
		}
		v, err := s.decodeValue()
		if err != nil {
			return err
		}
		if add(v); s.ended {
			return nil
		}
	}
}

func (s *survey) decodeObject(n int) (any, error) {
	mark, err := s.scan.EnterObject()
	if err != nil {
		return nil, err
	}
	m := make(map[string]any, n)
	for {
		key, err := s.scan.Key(mark)
		if err != nil || key == nil || s.atEnd() {
			return m, err
		}
		if _, duplicate := m[string(key)]; duplicate {
			return nil, s.scan.DuplicateKey(key)
		}
		name := string(key)
		v, err := s.decodeValue()
		if err != nil {
			return nil, err
		}
		if m[name] = v; s.ended {
			return m, nil
		}
	}
}
