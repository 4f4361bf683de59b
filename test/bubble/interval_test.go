// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// valuesFrom makes a release take its message from a ConfigMap of its name.
func valuesFrom(kind string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = nil
		hr.Spec.ValuesFrom = append(hr.Spec.ValuesFrom, helmv2.ValuesReference{Kind: kind, Name: hr.Name + "-values", ValuesKey: "message", TargetPath: "message"})
	}
}

// configMap creates a ConfigMap with a message. The controller watches it if it is labelled.
func (w *world) configMap(name, message string, labels map[string]string) *corev1.ConfigMap {
	w.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Data: map[string]string{"message": message}}
	w.create(cm)
	return cm
}

// untilMessage lets time pass until the release has installed a message, and returns how much.
func (w *world) untilMessage(name, message string) time.Duration {
	w.Helper()
	began := time.Now()
	w.until(name+" to say "+message, func() bool { return w.message(name) == message })
	return time.Since(began)
}

// TestAtRest: a release that is installed is reconciled after each interval without any request but
// the watches, which the API server ends from time to time.
func TestAtRest(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilReady(hr)
		if got := w.message("app"); got != "one" || newest(hr) != 1 {
			t.Errorf("revision %d says %q", newest(hr), got)
		}
		time.Sleep(time.Minute)
		if sent := w.requests(func() { time.Sleep(5 * time.Hour) }, isPlain); len(sent) > 0 {
			t.Errorf("at rest, these are sent: %q", sent)
		}
	})
}

// TestInterval: a change that no watch shows is noticed after the interval, or on request.
func TestInterval(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		cm := w.configMap("app-values", "one", nil)
		hr := w.release("app", "", valuesFrom(helmv2.KindConfigMap))
		w.untilReady(hr)
		for i, message := range []string{"two", "three"} {
			time.Sleep(10 * time.Minute)
			edit(w, cm, func(cm *corev1.ConfigMap) { cm.Data["message"] = message })
			if took := w.untilMessage("app", message); took < 49*time.Minute || took > 50*time.Minute+time.Second {
				t.Errorf("upgrade %d begins after %s", i, took)
			}
		}
		w.untilReady(hr)
		edit(w, cm, func(cm *corev1.ConfigMap) { cm.Data["message"] = "four" })
		w.ask(hr, "now")
		if took := w.untilMessage("app", "four"); took > 5*time.Second {
			t.Errorf("the requested upgrade begins after %s", took)
		}
	})
}

// TestJitter: the first intervals after a start are spread over the interval, and later ones by the
// jitter.
func TestJitter(t *testing.T) {
	inBubble(t, func(w *world) {
		const releases = 16
		shared := w.configMap("shared", "one", nil)
		w.publish("app", "1.0.0", w.note("1.0.0"))
		var all []*helmv2.HelmRelease
		for i := range releases {
			all = append(all, w.release(fmt.Sprint("app-", i), "", func(hr *helmv2.HelmRelease) {
				hr.Spec.ChartRef.Name = "app"
				hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: helmv2.KindConfigMap, Name: "shared", ValuesKey: "message", TargetPath: "message"}}
			}))
		}
		stop := w.start()
		w.untilReady(all...)
		stop()
		w.start(func(s *settings) { s.jitter = 10 })
		// upgraded returns when each release is upgraded after a change of the values.
		upgraded := func(message string) map[string]time.Time {
			edit(w, shared, func(cm *corev1.ConfigMap) { cm.Data["message"] = message })
			times := map[string]time.Time{}
			w.until("all upgrades", func() bool {
				for _, hr := range all {
					if _, done := times[hr.Name]; !done && w.message(hr.Name) == message {
						times[hr.Name] = time.Now()
					}
				}
				return len(times) == releases
			})
			return times
		}
		time.Sleep(time.Second)
		first := upgraded("two")
		var earliest, latest time.Time
		for _, at := range first {
			if earliest.IsZero() || at.Before(earliest) {
				earliest = at
			}
			if at.After(latest) {
				latest = at
			}
		}
		if spread := latest.Sub(earliest); spread < 13*time.Minute || spread > 67*time.Minute {
			t.Errorf("the first intervals are spread over %s", spread)
		}
		time.Sleep(time.Minute)
		shortest, longest := 2*time.Hour, time.Duration(0)
		for name, at := range upgraded("three") {
			interval := at.Sub(first[name])
			if interval > 90*time.Minute {
				// The first of two intervals was over before the change.
				interval /= 2
			}
			shortest, longest = min(shortest, interval), max(longest, interval)
		}
		if shortest < 54*time.Minute || longest > 67*time.Minute || longest-shortest < time.Minute {
			t.Errorf("later intervals are of %s to %s", shortest, longest)
		}
	})
}
