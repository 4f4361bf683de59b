// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestVerifyPods shares one cluster between cases that use objects of their own.
func TestVerifyPods(t *testing.T) {
	c := newTestCluster(t)
	c.up(t)
	for name, test := range map[string]func(*testing.T, *testCluster){
		"DeploymentBecomesAvailable": verifyDeployment,
		"JobSucceeds":                verifyJobSucceeds,
		"JobFailsWithItsCode":        verifyJobFails,
		"JobHangs":                   verifyJobHangs,
		"CrashLoop":                  verifyCrashLoop,
		"BarePodEnds":                verifyBarePod,
		"StatefulSetWithVolumes":     verifyVolumes,
		"NeverReady":                 verifyNeverReady,
		"DelayedDeployment":          verifyDelayedDeployment,
		"DelayedJob":                 verifyDelayedJob,
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
}

func verifyDeployment(t *testing.T, c *testCluster) {
	c.kubectl(t, deployment("plain", 2, nil), "apply", "-f", "-")
	c.wait(t, "--for=condition=Available", "deployment/plain")
	if got := c.kubectl(t, "", "get", "deployment", "plain", "-o", "jsonpath={.status.readyReplicas}"); got != "2" {
		t.Errorf("%s replicas are ready, want 2", got)
	}
	c.kubectl(t, "", "delete", "deployment", "plain", "--wait=false")
	eventually(t, patience, "pods deleted", func() bool { return c.podField(t, "plain", ".metadata.name") == "" })
}

func verifyJobSucceeds(t *testing.T, c *testCluster) {
	c.kubectl(t, job("good", nil), "apply", "-f", "-")
	c.wait(t, "--for=condition=Complete", "job/good")
}

func verifyJobFails(t *testing.T, c *testCluster) {
	c.kubectl(t, job("bad", map[string]string{"simulate.pintle.dev/exit-code": "3"}), "apply", "-f", "-")
	c.wait(t, "--for=condition=Failed", "job/bad")
	if got := c.podField(t, "bad", ".status.containerStatuses[0].state.terminated.exitCode"); got != "3" {
		t.Errorf("exit code %q, want 3", got)
	}
}

func verifyJobHangs(t *testing.T, c *testCluster) {
	c.kubectl(t, job("hang", map[string]string{"simulate.pintle.dev/hang": "true"}), "apply", "-f", "-")
	eventually(t, patience, "pod runs", func() bool { return c.podField(t, "hang", ".status.phase") == "Running" })
	time.Sleep(2 * time.Second)
	if got := c.podField(t, "hang", ".status.phase"); got != "Running" {
		t.Errorf("the pod is %s", got)
	}
	c.kubectl(t, "", "annotate", "pod", "-l", "app=hang", "simulate.pintle.dev/hang-")
	c.wait(t, "--for=condition=Complete", "job/hang")
}

func verifyCrashLoop(t *testing.T, c *testCluster) {
	c.kubectl(t, deployment("crash", 1, map[string]string{"simulate.pintle.dev/exit-code": "7"}), "apply", "-f", "-")
	eventually(t, patience, "CrashLoopBackOff", func() bool {
		return c.podField(t, "crash", ".status.containerStatuses[0].state.waiting.reason") == "CrashLoopBackOff"
	})
	if got := c.podField(t, "crash", ".status.containerStatuses[0].lastState.terminated.exitCode"); got != "7" {
		t.Errorf("exit code %q, want 7", got)
	}
}

func verifyBarePod(t *testing.T, c *testCluster) {
	c.kubectl(t, manifest("v1", "Pod", "bare", map[string]any{
		"restartPolicy": "Never", "containers": []any{map[string]string{"name": "main", "image": "example.test/none"}},
	}), "apply", "-f", "-")
	c.wait(t, "--for=jsonpath={.status.phase}=Succeeded", "pod/bare")
}

func verifyVolumes(t *testing.T, c *testCluster) {
	c.kubectl(t, manifest("apps/v1", "StatefulSet", "stateful", map[string]any{
		"replicas": 2, "serviceName": "stateful",
		"selector": map[string]any{"matchLabels": map[string]string{"app": "stateful"}},
		"template": podTemplate("stateful", "Always", nil),
		"volumeClaimTemplates": []any{map[string]any{
			"metadata": map[string]string{"name": "data"},
			"spec": map[string]any{
				"accessModes": []string{"ReadWriteOnce"},
				"resources":   map[string]any{"requests": map[string]string{"storage": "1Gi"}},
			},
		}},
	}), "apply", "-f", "-")
	c.wait(t, "--for=jsonpath={.status.readyReplicas}=2", "statefulset/stateful")
}

func verifyNeverReady(t *testing.T, c *testCluster) {
	available := func(status string) {
		t.Helper()
		c.wait(t, "--for=condition=Available="+status, "deployment/never")
	}
	c.kubectl(t, deployment("never", 1, map[string]string{"simulate.pintle.dev/ready": "never"}), "apply", "-f", "-")
	eventually(t, patience, "pod runs", func() bool { return c.podField(t, "never", ".status.phase") == "Running" })
	time.Sleep(2 * time.Second)
	available("False")
	c.kubectl(t, "", "annotate", "pod", "-l", "app=never", "simulate.pintle.dev/ready-")
	available("True")
	c.kubectl(t, "", "annotate", "pod", "-l", "app=never", "simulate.pintle.dev/ready=never")
	available("False")
}

func verifyDelayedDeployment(t *testing.T, c *testCluster) {
	began := time.Now()
	c.kubectl(t, deployment("late", 1, map[string]string{"simulate.pintle.dev/delay": "4s"}), "apply", "-f", "-")
	c.wait(t, "--for=condition=Available", "deployment/late")
	checkDelay(t, began)
}

func verifyDelayedJob(t *testing.T, c *testCluster) {
	began := time.Now()
	c.kubectl(t, job("slow", map[string]string{"simulate.pintle.dev/delay": "4s"}), "apply", "-f", "-")
	c.wait(t, "--for=condition=Complete", "job/slow")
	checkDelay(t, began)
}

func checkDelay(t *testing.T, began time.Time) {
	t.Helper()
	if took := time.Since(began); took < 4*time.Second {
		t.Errorf("took %s, want 4s and more", took)
	}
}

func (c *testCluster) wait(t *testing.T, args ...string) {
	t.Helper()
	began := time.Now()
	c.kubectl(t, "", append([]string{"wait", "--timeout=30s"}, args...)...)
	t.Logf("kubectl wait %s: %s", strings.Join(args, " "), time.Since(began).Round(10*time.Millisecond))
}

func (c *testCluster) podField(t *testing.T, name, path string) string {
	t.Helper()
	return c.kubectl(t, "", "get", "pod", "-l", "app="+name, "-o", fmt.Sprintf("jsonpath={.items[*]%s}", path))
}

// deployment and job set the annotations on their Pods, which the Stages select by.
func deployment(name string, replicas int, annotations map[string]string) string {
	return manifest("apps/v1", "Deployment", name, map[string]any{
		"replicas": replicas,
		"selector": map[string]any{"matchLabels": map[string]string{"app": name}},
		"template": podTemplate(name, "Always", annotations),
	})
}

func job(name string, annotations map[string]string) string {
	return manifest("batch/v1", "Job", name, map[string]any{
		"backoffLimit": 0,
		"template":     podTemplate(name, "Never", annotations),
	})
}

func podTemplate(name, restartPolicy string, annotations map[string]string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]string{"app": name}, "annotations": annotations},
		"spec": map[string]any{
			"restartPolicy": restartPolicy,
			"containers":    []any{map[string]string{"name": "main", "image": "example.test/none"}},
		},
	}
}

func manifest(apiVersion, kind, name string, spec map[string]any) string {
	data, err := json.Marshal(map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]string{"name": name}, "spec": spec,
	})
	if err != nil {
		panic(err) // maps of strings do marshal
	}
	return string(data)
}
