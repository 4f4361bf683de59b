// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GetPodList finds no Pods. Helm asks for those of a hook whose chart wants their
// logs printed, and its own client, which has not connected by then, would end the
// process. So the logs are read here; those of a hook that failed were read when
// it did.
func (c *client) GetPodList(namespace string, options metav1.ListOptions) (*corev1.PodList, error) {
	if q := c.inquest; q.on() && !q.hookFailed {
		logs, err := q.HookLogs(c.ctx, namespace, options, q.secrets())
		if err != nil {
			c.Log("the log of a hook cannot be read: %s", err)
		}
		q.hookLogs = append(q.hookLogs, logs...)
	}
	return &corev1.PodList{}, nil
}
