package main

import (
	"context"
	"fmt"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// field asks for one field of a form until what is written fits its type. It is nil for one that may be left out and was left empty.
func (f *form) field(ctx context.Context, m *schema.Member) (any, error) {
	check := m.Type.Compile()
	fmt.Fprintf(f.out, "%s\n", headingOf(m))
	for {
		fmt.Fprintf(f.out, "%s> ", m.Name)
		text, err := f.line(ctx)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "" && m.Optional {
			return nil, nil
		}
		v := filledIn(m.Type, text)
		_, violations := check.Check(v)
		if len(violations) == 0 {
			return v, nil
		}
		fmt.Fprintf(f.out, "This does not fit: %s\n", violations[0])
	}
}

// filledIn is what was written in a form, as a value. What it cannot be is left as it was written, for the type to say so.
func filledIn(t *schema.Type, text string) any {
	word := strings.TrimSpace(text)
	switch {
	case t.Kind == schema.List:
		list := []any{}
		for part := range strings.SplitSeq(text, ",") {
			if strings.TrimSpace(part) != "" {
				list = append(list, filledIn(t.Elem, part))
			}
		}
		return list
	case len(t.Enum) > 0:
		return chosen(t, word)
	case t.Kind == schema.String:
		return text
	case t.Kind == schema.Bool:
		switch strings.ToLower(word) {
		case "yes", "y", "true":
			return true
		case "no", "n", "false":
			return false
		}
	}
	if v, err := value.Decode([]byte(word)); err == nil {
		return v
	}
	return word
}

// chosen is a choice by its value or its title.
func chosen(t *schema.Type, word string) any {
	for _, e := range t.Enum {
		if e.Value == word {
			return word
		}
	}
	for _, e := range t.Enum {
		if e.Title != "" && strings.EqualFold(e.Title, word) {
			return e.Value
		}
	}
	return word
}

// headingOf says what a field is for, and what it takes.
func headingOf(m *schema.Member) string {
	head := m.Type.Title
	switch {
	case head == "" && m.Type.Description == "":
		head = m.Name
	case head == "":
		head = m.Type.Description
	case m.Type.Description != "":
		head += ": " + m.Type.Description
	}
	takes := taken(m.Type)
	switch {
	case m.HasDefault:
		takes = append(takes, "left empty it is "+plainly(m.Default))
	case m.Optional:
		takes = append(takes, "may be left empty")
	}
	if len(takes) == 0 {
		return head
	}
	return head + " (" + strings.Join(takes, ", ") + ")"
}

// taken is what may be written for a type, in words.
func taken(t *schema.Type) (words []string) {
	switch {
	case t.Kind == schema.List:
		words = append(words, "any of "+choices(t.Elem)+" with commas between them")
	case len(t.Enum) > 0:
		words = append(words, "one of "+choices(t))
	case t.Kind == schema.Bool:
		words = append(words, "yes or no")
	case t.Kind == schema.Integer:
		words = append(words, "a whole number")
	case t.Kind == schema.Number:
		words = append(words, "a number")
	case t.Format != "":
		words = append(words, "in the format "+t.Format)
	}
	if t.Min != nil {
		words = append(words, "at least "+plainly(t.Min))
	}
	if t.Max != nil {
		words = append(words, "at most "+plainly(t.Max))
	}
	words = numbered(words, t.MinLength, t.MaxLength, "character")
	return numbered(words, t.MinItems, t.MaxItems, "choice")
}

// numbered adds how many there may be of something, each limit of which may be missing.
func numbered(words []string, least, most *int, noun string) []string {
	if least != nil {
		words = append(words, "at least "+plural(*least, noun))
	}
	if most != nil {
		words = append(words, "at most "+plural(*most, noun))
	}
	return words
}

func choices(t *schema.Type) string {
	words := make([]string, len(t.Enum))
	for i, e := range t.Enum {
		words[i] = plainly(e.Value)
		if e.Title != "" {
			words[i] += " (" + e.Title + ")"
		}
	}
	return strings.Join(words, ", ")
}

// plainly is a value as it is written in a form.
func plainly(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case []any:
		words := make([]string, len(v))
		for i, e := range v {
			words[i] = plainly(e)
		}
		return strings.Join(words, ", ")
	}
	out, err := value.AppendJSON(nil, v)
	if err != nil {
		panic(err) // what is left are numbers
	}
	return string(out)
}
