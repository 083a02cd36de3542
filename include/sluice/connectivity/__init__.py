"""Why a Kafka cannot be reached: facts about addresses, and what they mean. Pure; `sluice.kafka` gathers the facts."""
