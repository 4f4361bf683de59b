// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/pintle-dev/pintle/internal/brief"
)

// The forms of times in log lines and in messages of Kubernetes.
const (
	clock = `\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?:\s?(?:Z|UTC|[+-]\d{2}:?\d{2}))?`
	// moment is a date with a time, as in RFC 3339, in syslog and in access logs, or a time alone.
	moment = `\d{4}[-/]\d{2}[-/]\d{2}[T ]` + clock +
		`|(?:\d{1,2}[ /])?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[ /]+\d{1,4}[ :]+` + clock + `(?: \d{4})?` +
		`|` + clock
	// epoch is a number of seconds since 1970, from 2020 to 2033, or of fractions of them.
	epoch   = `1[6-9]\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?\b|1\.[6-9]\d*e\+?0?9\b`
	anyTime = `(?:` + moment + `|` + epoch + `)`
	timeKey = `"?\b(?:time|timestamp|ts)"?\s*[=:]\s*`
)

var (
	// klogTimes are the day, the time and the thread after a severity: I0102 15:04:05.000000 1.
	klogTimes = regexp.MustCompile(`\b([IWEF])\d{4}\s+` + clock + `(?:\s+\d+\b)?`)
	// allTimes includes the brackets, or the key and the quotes, around a time.
	allTimes = regexp.MustCompile(`\[` + anyTime + `\]|\(` + anyTime + `\)|` + timeKey + `"` + anyTime + `",?|` +
		timeKey + anyTime + `,?|\b` + anyTime)
	// podNames are names of Pods as the API server and kubelets quote them.
	podNames = regexp.MustCompile(`\b(pods? )"[^"]+"`)
)

// stable returns text without the parts that differ between equal failures: times, and names, UIDs
// and addresses of Pods. The name of a Pod is replaced by the name of its owner.
func (f *Facts) stable(text string) string {
	for i := range f.Pods {
		text = f.withoutPod(text, &f.Pods[i])
	}
	if f.Kind != "Pod" {
		text = podNames.ReplaceAllString(text, `${1}"`+f.Name+`"`)
	}
	return brief.Line(allTimes.ReplaceAllString(klogTimes.ReplaceAllString(text, "$1"), ""))
}

func (f *Facts) withoutPod(text string, p *corev1.Pod) string {
	text = replace(text, p.Name, f.Name)
	if p.UID != "" {
		text = strings.ReplaceAll(text, "("+string(p.UID)+")", "")
		text = strings.ReplaceAll(text, string(p.UID), "")
	}
	for _, ip := range p.Status.PodIPs {
		text = replace(text, ip.IP, "<pod>")
	}
	return replace(text, p.Status.PodIP, "<pod>")
}

// replace replaces whole words: web-1 is not a part of web-10. Kubelets write web-1_namespace.
func replace(text, old, by string) string {
	if old == "" || !strings.Contains(text, old) {
		return text
	}
	return regexp.MustCompile(`\b`+regexp.QuoteMeta(old)+`(\b|_)`).ReplaceAllString(text, by+"$1")
}
