"""Each broker keeps the promises of the port."""

from __future__ import annotations

import pytest
from django.conf import settings

from execution.broker import get_broker
from execution.broker.database import DatabaseBroker
from tests.contracts.broker import BrokerContract


class TestDatabaseBroker(BrokerContract):
    @pytest.fixture
    def broker(self) -> DatabaseBroker:
        return DatabaseBroker()


@pytest.mark.skipif(not settings.AMQP_URL, reason="this mode has no RabbitMQ")
class TestRabbitMQBroker(BrokerContract):
    @pytest.fixture
    def broker(self):
        return get_broker()
