// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestDriftCorrected: a change of an object of a release is corrected as soon as it is seen, and the
// release is at rest then.
func TestDriftCorrected(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one", correctsDrift)
		w.untilReady(hr)
		w.untilCondition(hr, "Drifted", metav1.ConditionFalse, helmv2.ReasonNoDriftDetected)
		time.Sleep(time.Minute)
		w.quiet(5 * time.Hour)
		w.edits("app", "edited")
		if took := w.untilMessage("app", "one"); took > 10*time.Second {
			t.Errorf("the correction took %s", took)
		}
		time.Sleep(time.Minute)
		if w.read(hr); newest(hr) != 1 {
			t.Errorf("revision %d", newest(hr))
		}
		if sent := w.requests(func() { time.Sleep(5 * time.Hour) }, isPlain); len(sent) > 0 {
			t.Errorf("at rest, these are sent: %q", sent)
		}
	})
}

// TestDriftFight: corrections are limited if another client undoes each of them at once, and the
// condition names its manager. They are made again some time after it has stopped.
func TestDriftFight(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one", correctsDrift)
		w.untilReady(hr)
		rounds := 0
		for began := time.Now(); time.Since(began) < 10*time.Minute; time.Sleep(time.Second) {
			if w.settle(); w.message("app") == "one" {
				w.edits("app", "edited")
				rounds++
			}
		}
		w.untilCondition(hr, "Drifted", metav1.ConditionTrue, helmv2.ReasonDriftDetected, "corrected less often", "ConfigMap/apps/app", ".data.message", "by fighter (Update)")
		// Five corrections may be made within five minutes.
		if rounds < 10 || rounds > 12 {
			t.Errorf("%d rounds in ten minutes", rounds)
		}
		w.untilMessage("app", "one")
		w.untilCondition(hr, "Drifted", metav1.ConditionFalse, helmv2.ReasonNoDriftDetected)
	})
}
