package belay

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// withoutIndent makes code comparable that is indented differently.
func withoutIndent(code string) string {
	return regexp.MustCompile(`(?m)^\s+`).ReplaceAllString(code, "")
}

// The guide shows nothing that no test runs.
func TestGuideShowsExamples(t *testing.T) {
	guide, err := os.ReadFile("../../docs/go.md")
	must(t, err)
	examples := ""
	for _, file := range []string{"example_test.go", "example_range_test.go"} {
		text, err := os.ReadFile(file)
		must(t, err)
		examples += withoutIndent(string(text))
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	if len(blocks) < 10 {
		t.Fatalf("only %d examples in the guide", len(blocks))
	}
	for _, block := range blocks {
		if !strings.HasPrefix(block[1], "// redsync") && !strings.Contains(examples, withoutIndent(block[1])) {
			t.Errorf("no example has:\n%s", block[1])
		}
	}
}
